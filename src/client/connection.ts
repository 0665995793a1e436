/**
 * One connection to one Kafka broker: asks for ApiVersions first, then pipelines requests; answers are matched by
 * correlation id. Invariant: every request settles exactly once (answer, timeout or lost connection).
 */
import { type Address, showAddress } from "../base/address.ts";
import { limits } from "../base/limits.ts";
import { connectTcp, type TcpClient } from "../platform/tcp_client.ts";
import { decodeResponse, encodeRequest, frameLengthBytes } from "../protocol/frames.ts";
import { newApiVersionsRequest } from "../protocol/generated/api_versions_request.ts";
import { type ApiKey, apiKeys, apis, type RequestOf, type ResponseOf } from "../protocol/generated/index.ts";

/** The connection could not be made or was lost. `code` is the system's, where it has one. */
export class ConnectionError extends Error {
  override name = "ConnectionError";
  readonly code: string | undefined;
  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** The broker does not have the API, or no version that we also have. */
export class UnsupportedApiError extends Error {
  override name = "UnsupportedApiError";
}

export interface ConnectionOptions {
  clientId: string;
  /** For connecting and for one answer, unless the request says otherwise. */
  timeoutMs: number;
}

export interface SendOptions {
  /** Highest version to use, when the request's fields belong to an older form. */
  maxVersion?: number;
  minVersion?: number;
  /** Longest wait for the answer. */
  timeoutMs?: number;
  /** For acks=0: the broker will not answer. */
  noAnswer?: boolean;
}

interface Waiting {
  apiKey: ApiKey;
  version: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

export class KafkaConnection {
  readonly address: Address;
  readonly #options: ConnectionOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #frames = new FrameReader();
  #tcp: TcpClient | undefined;
  #versions = new Map<number, readonly [number, number]>();
  #nextId = 1;
  #lost: ConnectionError | undefined;

  private constructor(address: Address, options: ConnectionOptions) {
    this.address = address;
    this.#options = options;
  }

  static async open(address: Address, options: ConnectionOptions): Promise<KafkaConnection> {
    const connection = new KafkaConnection(address, options);
    try {
      connection.#tcp = await connectTcp({
        host: address.host,
        port: address.port,
        connectTimeoutMs: options.timeoutMs,
        received: (bytes) => connection.#received(bytes),
        closed: (reason) => connection.#fail(reason),
      });
    } catch (error) {
      throw connectError(address, error as { code?: string; message: string });
    }
    await connection.#negotiate();
    return connection;
  }

  get isOpen(): boolean {
    return this.#lost === undefined;
  }

  /** Highest version that both sides have, within the options' bounds. */
  version(apiKey: ApiKey, { minVersion = 0, maxVersion = Number.POSITIVE_INFINITY }: SendOptions = {}): number {
    const theirs = this.#versions.get(apiKey);
    const [ourMin, ourMax] = apis[apiKey].requestVersions;
    const version = Math.min(theirs?.[1] ?? -1, ourMax, maxVersion);
    if (theirs === undefined || version < Math.max(theirs[0], ourMin, minVersion))
      throw new UnsupportedApiError(
        `${showAddress(this.address)} ${theirs ? `has no usable version of ${apis[apiKey].name} (it has ${theirs[0]} to ${theirs[1]})` : `does not have ${apis[apiKey].name}`}`,
      );
    return version;
  }

  supports(apiKey: ApiKey): boolean {
    return this.#versions.has(apiKey);
  }

  async send<K extends ApiKey>(apiKey: K, body: RequestOf<K>, options: SendOptions = {}): Promise<ResponseOf<K>> {
    return this.#exchange(apiKey, this.version(apiKey, options), body, options);
  }

  close(): void {
    this.#fail(undefined);
    this.#tcp?.close();
  }

  async #negotiate(): Promise<void> {
    const body = newApiVersionsRequest({ clientSoftwareName: "rowlog", clientSoftwareVersion: "1" });
    let answer = await this.#exchange(apiKeys.ApiVersions, 3, body, {});
    // A broker from before version 3 refuses it in the oldest form.
    if (answer.errorCode !== 0) answer = await this.#exchange(apiKeys.ApiVersions, 0, body, {});
    this.#versions = new Map(answer.apiKeys.map((api) => [api.apiKey, [api.minVersion, api.maxVersion] as const]));
  }

  #exchange<K extends ApiKey>(
    apiKey: K,
    version: number,
    body: RequestOf<K>,
    options: SendOptions,
  ): Promise<ResponseOf<K>> {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = this.#nextId;
    this.#nextId = (id % 0x7fffffff) + 1;
    const chunks = encodeRequest(apiKey, version, id, this.#options.clientId, body);
    const tcp = this.#tcp as TcpClient;
    if (options.noAnswer) return tcp.write(chunks) as Promise<never>;
    return new Promise((resolve, reject) => {
      const ms = options.timeoutMs ?? this.#options.timeoutMs;
      const timer = setTimeout(() => {
        const name = apis[apiKey].name;
        this.#fail(new Error(`no answer to ${name} within ${ms} ms`));
        tcp.close();
      }, ms);
      this.#waiting.set(id, { apiKey, version, resolve: resolve as (value: unknown) => void, reject, timer });
      tcp.write(chunks).catch((error) => this.#fail(error));
    });
  }

  #received(bytes: Uint8Array): void {
    try {
      this.#frames.push(bytes);
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) this.#answer(frame);
    } catch (error) {
      this.#fail(error as Error);
      this.#tcp?.close();
    }
  }

  #answer(frame: Uint8Array): void {
    const id = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getInt32(0);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) throw new Error(`an answer has the correlation id ${id}, which nobody waits for`);
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    try {
      // An ApiVersions refusal has the oldest form whatever was asked (KIP-511).
      const refused = waiting.apiKey === apiKeys.ApiVersions && frame[4] === 0 && frame[5] === 35;
      waiting.resolve(decodeResponse(waiting.apiKey, refused ? 0 : waiting.version, frame).body);
    } catch (error) {
      waiting.reject(error as Error);
      throw error;
    }
  }

  #fail(reason: Error | undefined): void {
    if (this.#lost) return;
    const why = reason?.message ?? "it was closed";
    this.#lost = new ConnectionError(
      `lost the connection to ${showAddress(this.address)}: ${why}`,
      (reason as { code?: string } | undefined)?.code,
    );
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(this.#lost);
    }
    this.#waiting.clear();
  }
}

function connectError(address: Address, error: { code?: string; message: string }): ConnectionError {
  const at = showAddress(address);
  switch (error.code) {
    case "ECONNREFUSED":
      return new ConnectionError(`cannot connect to ${at}: nothing listens there`, error.code);
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ConnectionError(`cannot connect to ${at}: the host name is not known`, error.code);
    case "ETIMEDOUT":
      return new ConnectionError(`cannot connect to ${at}: no answer (a firewall, or the wrong address?)`, error.code);
    default:
      return new ConnectionError(`cannot connect to ${at}: ${error.message}`, error.code);
  }
}

/** Cuts a stream of bytes into frames without their lengths. A length over the bound is an error: not a Kafka broker. */
class FrameReader {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  next(): Uint8Array | undefined {
    if (this.#bytes < frameLengthBytes) return undefined;
    const first = this.#joined(frameLengthBytes);
    const length = new DataView(first.buffer, first.byteOffset, frameLengthBytes).getInt32(0);
    if (length < 4 || length > limits.clientFrameBytesMax)
      throw new Error(`the peer is no Kafka broker (it answered with a frame of ${length} bytes)`);
    if (this.#bytes < frameLengthBytes + length) return undefined;
    const whole = this.#joined(frameLengthBytes + length);
    this.#bytes -= frameLengthBytes + length;
    const rest = whole.subarray(frameLengthBytes + length);
    if (rest.length > 0) this.#chunks[0] = rest;
    else this.#chunks.shift();
    return whole.subarray(frameLengthBytes, frameLengthBytes + length);
  }

  /** Makes the first chunk hold at least `length` bytes, with one copy at most. */
  #joined(length: number): Uint8Array {
    const first = this.#chunks[0] as Uint8Array;
    if (first.length >= length) return first;
    const all = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [all];
    return all;
  }
}
