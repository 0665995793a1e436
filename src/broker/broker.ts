/**
 * The Kafka port: accepts connections, reads requests, hands each to its handler, writes the answers.
 *
 * Invariant: whatever a peer sends or fails to read costs its own connection, never another one's and never the node.
 */
import { errorCodes } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import { readBuffers } from "../log/reader.ts";
import { openFilesMax } from "../platform/open_files.ts";
import { listenTcp, type TcpConnection, type TcpListener } from "../platform/tcp.ts";
import { isServed } from "../protocol/apis.ts";
import { apiByKey, encodeResponse, type RequestHeader, readRequestHeader } from "../protocol/frames.ts";
import { type ApiKey, apiKeys, type ResponseOf } from "../protocol/generated/index.ts";
import { ProtocolError } from "../protocol/protocol_error.ts";
import { Reader } from "../protocol/reader.ts";
import { Connection, type ConnectionOwner, type StartableRequest } from "./connection.ts";
import { framePool } from "./frame_assembler.ts";
import type { Handler, RequestContext, Services } from "./handler.ts";
import { apiVersionsAnswer } from "./handlers/api_versions.ts";
import { handlers } from "./handlers/index.ts";

/** How often idle connections and unused memory are looked for, in milliseconds. */
const sweepMs = 10_000;

export class Broker implements ConnectionOwner {
  private readonly services: Services;
  private readonly connections = new Set<Connection>();
  private readonly table = new Map<number, Handler<unknown, unknown>>();
  private listener: TcpListener | undefined;
  private connectionsMade = 0;
  private sweep: { cancel(): void } | undefined;
  private stopping = false;
  private readonly connectionsMax: number;
  private refused = 0;

  /** `filesMax`: files and sockets that the system lets this process have open. */
  constructor(services: Services, filesMax = openFilesMax()) {
    this.services = services;
    this.connectionsMax = connectionsAllowed(filesMax);
    for (const handler of handlers) this.table.set(handler.apiKey, handler as Handler<unknown, unknown>);
  }

  /** Listens; throws ListenError. Port 0 picks a free one: see `port`. */
  async start(host: string, port: number): Promise<void> {
    this.listener = await listenTcp({ host, port, accept: (tcp) => this.accept(tcp) });
    if (this.connectionsMax < limits.connectionsMax) {
      const reason = "the system allows few open files; raise the limit (ulimit -n)";
      this.services.logger.info("fewer connections than usual are accepted", { max: this.connectionsMax, reason });
    }
    this.scheduleSweep();
  }

  get port(): number {
    return this.listener?.port ?? 0;
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  /** Stops accepting, answers what is in flight, closes; what is still open after `timeoutMs` is cut. */
  async stop(timeoutMs: number): Promise<void> {
    this.stopping = true;
    this.sweep?.cancel();
    this.listener?.stop();
    for (const connection of [...this.connections]) connection.drain();
    const deadline = this.services.clock.monotonicMs() + timeoutMs;
    while (this.connections.size > 0 && this.services.clock.monotonicMs() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
    for (const connection of [...this.connections]) connection.terminate();
  }

  private accept(tcp: TcpConnection): Connection | undefined {
    if (this.stopping || this.connections.size >= this.connectionsMax) {
      this.noteRefusal(tcp.remoteAddress);
      return undefined;
    }
    const connection = new Connection(++this.connectionsMade, tcp, this, this.services.logger);
    this.connections.add(connection);
    return connection;
  }

  /** One line a second, however many there are. */
  private noteRefusal(peer: string): void {
    if (this.refused++ > 0) return;
    this.services.logger.warn("refused a connection", { peer, open: this.connections.size, max: this.connectionsMax });
    this.services.clock.setTimer(1_000, () => {
      if (this.refused > 1) this.services.logger.warn("refused more connections", { count: this.refused - 1 });
      this.refused = 0;
    });
  }

  closed(connection: Connection): void {
    this.connections.delete(connection);
  }

  decode(frame: Uint8Array, connection: Connection): StartableRequest {
    const reader = new Reader(frame);
    const header = readRequestHeader(reader);
    const { apiKey, apiVersion, correlationId } = header;
    if (!isServed(apiKey, apiVersion)) {
      if (apiKey === apiKeys.ApiVersions) return unknownApiVersions(correlationId);
      throw new ProtocolError(`API ${apiKey} version ${apiVersion} is not served`);
    }
    const body = apiByKey(apiKey)!.readRequest(reader, apiVersion);
    const handler = this.table.get(apiKey)!;
    const context = this.contextOf(header, connection);
    return {
      isProduce: apiKey === apiKeys.Produce,
      run: () => this.run(handler, body, header, context, frame.length),
    };
  }

  private contextOf(header: RequestHeader, connection: Connection): RequestContext {
    const { tcp } = connection;
    return {
      services: this.services,
      apiVersion: header.apiVersion,
      clientId: header.clientId,
      clientHost: `/${tcp.remoteAddress}`,
      localHost: tcp.localAddress,
      localPort: tcp.localPort,
      connectionId: connection.id,
      onClose: (fn) => connection.onClose(fn),
      setClientSoftware: (text) => {
        connection.clientSoftware = text;
      },
    };
  }

  private run(
    handler: Handler<unknown, unknown>,
    body: unknown,
    header: RequestHeader,
    context: RequestContext,
    requestBytes: number,
  ): Promise<Uint8Array[] | null> | Uint8Array[] | null {
    const started = this.services.clock.monotonicMs();
    const encode = (answer: unknown): Uint8Array[] | null => {
      const { apiKey, apiVersion, correlationId } = header;
      const chunks =
        answer === null ? null : encodeResponse(apiKey, apiVersion, correlationId, answer as ResponseOf<ApiKey>);
      let answerBytes = 0;
      for (const chunk of chunks ?? []) answerBytes += chunk.length;
      this.services.metrics.request(
        apiKey,
        (this.services.clock.monotonicMs() - started) / 1000,
        requestBytes,
        answerBytes,
      );
      return chunks;
    };
    const answer = handler.handle(body, context);
    return answer instanceof Promise ? answer.then(encode) : encode(answer);
  }

  private scheduleSweep(): void {
    this.sweep = this.services.clock.setTimer(sweepMs, () => {
      const oldest = performance.now() - limits.connectionIdleMsMax;
      for (const connection of [...this.connections])
        if (connection.isIdle && connection.lastActiveMs < oldest) connection.terminate();
      framePool.trim();
      readBuffers.trim();
      this.scheduleSweep();
    });
  }
}

/** Connections must not take the files that the logs need: a peer's many would fail the produces of the others. */
export function connectionsAllowed(filesMax: number): number {
  const left = Math.max(Math.floor(filesMax / 4), filesMax - limits.filesReserved);
  return Math.max(1, Math.min(limits.connectionsMax, left));
}

/** The client is newer than we are: the oldest form of answer tells it what we know (KIP-511). */
function unknownApiVersions(correlationId: number): StartableRequest {
  const answer = apiVersionsAnswer(errorCodes.UNSUPPORTED_VERSION);
  return { isProduce: false, run: () => encodeResponse(apiKeys.ApiVersions, 0, correlationId, answer) };
}
