# A node in a container: the first stage builds the executable, the last one holds nothing else.
#
#   docker build -t rowlog .
#   docker run -p 127.0.0.1:9092:9092 -p 127.0.0.1:8080:8080 -v rowlog-lake:/lake --read-only rowlog
FROM node:22-bookworm-slim AS build
WORKDIR /source
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM debian:bookworm-slim
COPY --from=build /source/dist/rowlog /usr/local/bin/rowlog
# The numbers, not a name: nothing has to be written to /etc/passwd.
RUN mkdir /lake && chown 65532:65532 /lake
USER 65532:65532
ENV ROWLOG_LAKE=/lake ROWLOG_KAFKA=0.0.0.0:9092 ROWLOG_HTTP=0.0.0.0:8080 ROWLOG_LOG_FORMAT=json
VOLUME /lake
EXPOSE 9092 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["rowlog"]
CMD ["serve"]
