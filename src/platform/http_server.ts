/** An HTTP server around a fetch function (Request to Response): Bun.serve, or Deno.serve. */
import { ListenError } from "./tcp.ts";

export interface HttpServer {
  readonly host: string;
  readonly port: number;
  /** Takes no more connections, lets requests in flight end, at most `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
}

export interface HttpServeOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  fetch(request: Request): Response | Promise<Response>;
  /** Largest request body in bytes; more is answered with 413. */
  bodyBytesMax: number;
}

/** Seconds that a connection may be silent: long polls and slow queries stay open, dead peers do not. */
const idleSeconds = 255;

/** Throws a ListenError when the address cannot be listened on. */
export function serveHttp(options: HttpServeOptions): HttpServer {
  try {
    return "Bun" in globalThis ? serveBun(options) : serveDeno(options);
  } catch (error) {
    if (error instanceof ListenError) throw error;
    throw new ListenError(options.host, options.port, error);
  }
}

function serveBun(options: HttpServeOptions): HttpServer {
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    fetch: options.fetch,
    maxRequestBodySize: options.bodyBytesMax,
    idleTimeout: idleSeconds,
    development: false,
    // Outside of development Bun shares a port with any other process, silently.
    reusePort: false,
  });
  return {
    host: options.host,
    port: server.port ?? options.port,
    async stop(timeoutMs) {
      const timer = setTimeout(() => void server.stop(true), timeoutMs);
      await server.stop(false);
      clearTimeout(timer);
    },
  };
}

interface DenoServer {
  addr: { port: number };
  shutdown(): Promise<void>;
}

interface DenoApi {
  serve(
    options: { hostname: string; port: number; signal: AbortSignal; onListen(): void },
    handler: HttpServeOptions["fetch"],
  ): DenoServer;
  errors: { AddrInUse: new () => Error };
}

function serveDeno(options: HttpServeOptions): HttpServer {
  const deno = (globalThis as unknown as { Deno: DenoApi }).Deno;
  const abort = new AbortController();
  let server: DenoServer;
  try {
    server = deno.serve(
      { hostname: options.host, port: options.port, signal: abort.signal, onListen() {} },
      options.fetch,
    );
  } catch (error) {
    const code = error instanceof deno.errors.AddrInUse ? "EADDRINUSE" : undefined;
    throw new ListenError(options.host, options.port, code ? { code } : error);
  }
  return {
    host: options.host,
    port: server.addr.port,
    async stop(timeoutMs) {
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      await server.shutdown();
      clearTimeout(timer);
    },
  };
}
