/**
 * Listening for TCP connections: the one face of Bun's sockets (`tcp_bun.ts`) and of node:net in Deno (`tcp_node.ts`).
 *
 * A write may be short: what was not taken must be written again after `drained`, and nothing else before it.
 * Bytes given to `received` stay valid after the call, unless it says that they are done with. A half-closed peer can still be answered.
 */
export interface TcpConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** The address and port that the peer reached. */
  readonly localAddress: string;
  readonly localPort: number;
  /** Bytes that were taken are copied: their memory may be used again at once. */
  readonly copiesWrites: boolean;
  /** How many of the bytes were taken; -1 when the connection is gone. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Sends what was written, then closes. */
  end(): void;
  /** Closes at once. */
  terminate(): void;
}

/** What the owner of a listener does with one connection. */
export interface TcpPeer {
  /** True says that nobody will look at the bytes any more: their memory may go at once. */
  received(bytes: Uint8Array): boolean;
  drained(): void;
  /** The peer sends no more; it may still read. */
  ended(): void;
  closed(): void;
}

export interface TcpListener {
  readonly host: string;
  readonly port: number;
  /** Takes no more connections; open ones stay. */
  stop(): void;
}

export interface TcpListenOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** Called for each new connection; undefined refuses it. */
  accept(connection: TcpConnection): TcpPeer | undefined;
}

/** Idle time in milliseconds after which the system probes whether the peer is still there. */
export const keepAliveMs = 60_000;

/** Throws a ListenError when the address cannot be listened on. */
export async function listenTcp(options: TcpListenOptions): Promise<TcpListener> {
  if ("Bun" in globalThis) return (await import("./tcp_bun.ts")).listen(options);
  return (await import("./tcp_node.ts")).listen(options);
}

export class ListenError extends Error {
  override name = "ListenError";
  readonly code: string;

  constructor(host: string, port: number, cause: unknown) {
    const code = (cause as { code?: string })?.code ?? "UNKNOWN";
    super(`cannot listen on ${host}:${port}: ${reasons[code] ?? (cause as Error)?.message ?? code}`);
    this.code = code;
  }
}

const reasons: Record<string, string> = {
  EADDRINUSE: "the port is taken by another process; choose another port",
  EACCES: "this user may not use that port; choose one above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "the host name is not known",
};
