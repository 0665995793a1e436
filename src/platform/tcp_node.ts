/** TCP listener over node:net, for Deno (and Node, in tests). */
import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";
import { keepAliveMs, ListenError, type TcpConnection, type TcpListener, type TcpListenOptions } from "./tcp.ts";

/** Bytes that node:net may hold before a write counts as not taken. */
const heldBytesMax = 1024 * 1024;

class NodeConnection implements TcpConnection {
  private readonly socket: Socket;
  readonly copiesWrites = false;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;

  constructor(socket: Socket) {
    this.socket = socket;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.remotePort = socket.remotePort ?? 0;
    this.localAddress = socket.localAddress ?? "";
    this.localPort = socket.localPort ?? 0;
  }

  write(bytes: Uint8Array): number {
    if (this.socket.destroyed) return -1;
    // node:net takes everything into its own buffer: past a bound we take nothing until it has drained.
    if (this.socket.writableLength > heldBytesMax) return 0;
    this.socket.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return bytes.length;
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
  }

  terminate(): void {
    this.socket.destroy();
  }
}

export function listen(options: TcpListenOptions): Promise<TcpListener> {
  const server = createServer({
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  });
  server.on("connection", (socket) => {
    const peer = options.accept(new NodeConnection(socket));
    if (!peer) {
      socket.destroy();
      return;
    }
    socket.on("data", (bytes: Uint8Array) => peer.received(bytes));
    socket.on("drain", () => peer.drained());
    socket.on("end", () => peer.ended());
    socket.on("close", () => peer.closed());
    socket.on("error", () => socket.destroy());
  });
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(new ListenError(options.host, options.port, error)));
    server.listen({ host: options.host, port: options.port }, () => {
      const { port } = server.address() as { port: number };
      resolve({ host: options.host, port, stop: () => void server.close() });
    });
  });
}
