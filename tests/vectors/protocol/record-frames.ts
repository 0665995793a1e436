/**
 * A proxy in front of an Apache Kafka broker (which advertises the proxy's address) that keeps frames of the clients going
 * through it: of each client software, API, version and direction the first few that differ in length.
 *
 *   bun tests/vectors/protocol/record-frames.ts PROXY_PORT BROKER_PORT FILE
 *
 * Adds to FILE when it is ended by SIGTERM. A line: client, API key, version, "request" or "response", hex without the length.
 */
import { appendFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";

const [proxyPort = "0", brokerPort = "0", file = "traffic.txt"] = process.argv.slice(2);
const frameBytesMax = 3000;
const framesOfAKind = 2;
const kept = new Map<string, Map<number, string>>();

function keep(client: string, key: number, version: number, side: string, frame: Buffer): void {
  if (frame.length > frameBytesMax) return;
  const kind = `${client} ${key} ${version} ${side}`;
  const frames = kept.get(kind) ?? new Map<number, string>();
  kept.set(kind, frames);
  if (frames.size < framesOfAKind && !frames.has(frame.length)) frames.set(frame.length, frame.toString("hex"));
}

/** Calls `each` for every frame of the stream, without its length. */
function split(socket: Socket, each: (frame: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    pending = Buffer.concat([pending, data]);
    while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE(0)) {
      const end = 4 + pending.readInt32BE(0);
      each(pending.subarray(4, end));
      pending = pending.subarray(end);
    }
  });
}

/** The client's software as its id tells it; ids that Java makes up end in a number. */
function clientName(frame: Buffer): string {
  const length = frame.readInt16BE(8);
  const id = length < 0 ? "null" : frame.toString("utf8", 10, 10 + length);
  return id.replace(/[^A-Za-z]+.*$/, "") || "none";
}

const server = createServer((client) => {
  const broker = connect(Number(brokerPort), "127.0.0.1");
  const asked = new Map<number, { name: string; key: number; version: number }>();
  split(client, (frame) => {
    const name = clientName(frame);
    const [key, version] = [frame.readInt16BE(0), frame.readInt16BE(2)];
    asked.set(frame.readInt32BE(4), { name, key, version });
    keep(name, key, version, "request", frame);
  });
  split(broker, (frame) => {
    const request = asked.get(frame.readInt32BE(0));
    if (request) keep(request.name, request.key, request.version, "response", frame);
  });
  client.pipe(broker);
  broker.pipe(client);
  client.on("error", () => broker.destroy());
  broker.on("error", () => client.destroy());
});
server.listen(Number(proxyPort), "127.0.0.1");

process.on("SIGTERM", () => {
  const lines = [...kept].flatMap(([kind, frames]) => [...frames.values()].map((hex) => `${kind} ${hex}`));
  appendFileSync(file, lines.map((line) => `${line}\n`).join(""));
  process.exit(0);
});
