/**
 * A TCP proxy between the clients and the node (which advertises the proxy's port, so every connection comes through here). On
 * request it takes a producer's answers away: the request reaches the node, the node's answer comes back, and then the client's
 * connection is cut before it sees it. That is the case that idempotent producers exist for.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** Api key of Produce. */
const produceKey = 0;

interface Cut {
  clientId: string;
  /** How many more of its Produce answers are taken away. */
  left: number;
}

/** Splits a stream of length-prefixed frames. */
class Frames {
  #pending: Buffer = Buffer.alloc(0);

  /** The frames that `data` completes, each with its length prefix. */
  push(data: Buffer): Buffer[] {
    this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data]);
    const frames: Buffer[] = [];
    while (this.#pending.length >= 4) {
      const end = 4 + this.#pending.readInt32BE(0);
      if (this.#pending.length < end) break;
      frames.push(this.#pending.subarray(0, end));
      this.#pending = this.#pending.subarray(end);
    }
    return frames;
  }
}

export class CuttingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #cuts: Cut[] = [];
  #targetPort = 0;

  private constructor(server: Server) {
    this.#server = server;
    const address = server.address();
    this.port = address !== null && typeof address === "object" ? address.port : 0;
    server.on("connection", (client) => this.#join(client));
  }

  /** Listens on a free port; nothing is reached until `forwardTo`. */
  static async start(): Promise<CuttingProxy> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    return new CuttingProxy(server);
  }

  forwardTo(port: number): void {
    this.#targetPort = port;
  }

  /** From now on, takes the answers of the next `count` Produce requests of that client id away. */
  cutProduceAnswers(clientId: string, count: number): void {
    this.#cuts.push({ clientId, left: count });
  }

  /** How many of the cuts asked for a client id have not happened yet. */
  cutsLeft(clientId: string): number {
    return this.#cuts.filter((cut) => cut.clientId === clientId).reduce((sum, cut) => sum + cut.left, 0);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }

  #join(client: Socket): void {
    const node = connect(this.#targetPort, "127.0.0.1");
    const requests = new Frames();
    const answers = new Frames();
    /** Correlation ids of Produce requests whose answers are to be taken away. */
    const doomed = new Map<number, Cut>();
    const end = () => {
      for (const socket of [client, node]) {
        socket.destroy();
        this.#sockets.delete(socket);
      }
    };
    for (const socket of [client, node]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (data: Buffer) => {
      for (const frame of requests.push(data)) {
        this.#noteRequest(frame, doomed);
        node.write(frame);
      }
    });
    node.on("data", (data: Buffer) => {
      for (const frame of answers.push(data)) {
        const cut = doomed.get(frame.readInt32BE(4));
        if (cut !== undefined) {
          cut.left--;
          return end();
        }
        client.write(frame);
      }
    });
  }

  #noteRequest(frame: Buffer, doomed: Map<number, Cut>): void {
    if (frame.readInt16BE(4) !== produceKey) return;
    const idLength = frame.readInt16BE(12);
    const clientId = idLength < 0 ? "" : frame.subarray(14, 14 + idLength).toString();
    const cut = this.#cuts.find((candidate) => candidate.left > 0 && candidate.clientId === clientId);
    if (cut !== undefined) doomed.set(frame.readInt32BE(8), cut);
  }
}
