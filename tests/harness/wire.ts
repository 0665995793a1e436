/** A Kafka connection that sends exactly what a test says, and reads frames back. */
import { connect, type Socket } from "node:net";
import { decodeResponse, encodeRequest } from "../../src/protocol/frames.ts";
import type { ApiKey, RequestOf, ResponseOf } from "../../src/protocol/generated/index.ts";

export class Wire {
  readonly socket: Socket;
  private held: Buffer = Buffer.alloc(0);
  private readonly waiting: ((frame: Uint8Array | undefined) => void)[] = [];
  private readonly frames: Uint8Array[] = [];
  private correlationId = 0;
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes: string | Buffer) => this.received(bytes as Buffer));
    socket.on("error", () => undefined);
    const ended = () => {
      this.isClosed = true;
      for (const waiter of this.waiting.splice(0)) waiter(undefined);
    };
    socket.on("end", ended);
    socket.on("close", ended);
  }

  static open(port: number): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
      socket.once("connect", () => resolve(new Wire(socket)));
      socket.once("error", reject);
    });
  }

  /** Sends a request without waiting; gives its correlation id. */
  send<K extends ApiKey>(key: K, version: number, body: RequestOf<K>, correlationId = ++this.correlationId): number {
    for (const chunk of encodeRequest(key, version, correlationId, "test", body)) this.socket.write(chunk);
    return correlationId;
  }

  /** The next frame without its length; undefined once the connection is closed. */
  frame(): Promise<Uint8Array | undefined> {
    const next = this.frames.shift();
    if (next) return Promise.resolve(next);
    if (this.isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  async answer<K extends ApiKey>(key: K, version: number): Promise<{ correlationId: number; body: ResponseOf<K> }> {
    const frame = await this.frame();
    if (!frame) throw new Error("the connection was closed");
    return decodeResponse(key, version, frame);
  }

  async call<K extends ApiKey>(key: K, version: number, body: RequestOf<K>): Promise<ResponseOf<K>> {
    const sent = this.send(key, version, body);
    const { correlationId, body: answer } = await this.answer(key, version);
    if (correlationId !== sent) throw new Error(`expected answer ${sent}, got ${correlationId}`);
    return answer;
  }

  close(): void {
    this.socket.destroy();
  }

  private received(bytes: Buffer): void {
    this.held = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes]);
    while (this.held.length >= 4) {
      const length = this.held.readInt32BE(0);
      if (this.held.length < 4 + length) return;
      const frame = new Uint8Array(this.held.subarray(4, 4 + length));
      this.held = this.held.subarray(4 + length);
      const waiter = this.waiting.shift();
      if (waiter) waiter(frame);
      else this.frames.push(frame);
    }
  }
}
