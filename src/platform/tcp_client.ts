/**
 * An outgoing TCP connection, over node:net (the same in Bun and Deno).
 * Invariant: `received` and `closed` are called from one connection in order, `closed` once and last.
 */
import { connect } from "node:net";

export interface TcpClient {
  /** Resolves when the system took the bytes: back-pressure of a slow peer. Rejects when the connection is gone. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  close(): void;
}

export interface TcpClientOptions {
  host: string;
  port: number;
  connectTimeoutMs: number;
  received(bytes: Uint8Array): void;
  closed(reason: Error | undefined): void;
}

/** Rejects with the system's error (`code` ECONNREFUSED, ENOTFOUND, ETIMEDOUT …). */
export function connectTcp(options: TcpClientOptions): Promise<TcpClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: options.host, port: options.port, noDelay: true });
    let reason: Error | undefined;
    let connected = false;
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error("connection attempt timed out"), { code: "ETIMEDOUT" }));
    }, options.connectTimeoutMs);
    socket.on("connect", () => {
      clearTimeout(timer);
      connected = true;
      resolve({ write: (chunks) => writeAll(socket, chunks), close: () => void socket.destroy() });
    });
    socket.on("data", (bytes: Uint8Array) => options.received(bytes));
    socket.on("error", (error: Error) => {
      reason = error;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      if (connected) options.closed(reason);
      else reject(reason ?? new Error("the connection was closed"));
    });
  });
}

function writeAll(socket: ReturnType<typeof connect>, chunks: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.cork();
    for (let i = 0; i < chunks.length; i++) {
      const last = i === chunks.length - 1;
      socket.write(chunks[i] as Uint8Array, (error) => {
        if (error) reject(error);
        else if (last) resolve();
      });
    }
    socket.uncork();
  });
}
