/** A Kafka connection that sends exactly what a test says, and reads frames back. */
import { connect, type Socket } from "node:net";
import { decodeResponse, encodeRequest } from "../../src/protocol/frames.ts";
import type { ApiKey, RequestOf, ResponseOf } from "../../src/protocol/generated/index.ts";

export class Wire {
  readonly socket: Socket;
  private held: Buffer[] = [];
  private heldBytes = 0;
  private neededBytes = 4;
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
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    // Joined only when a frame is whole: joining at each piece costs the square of a large answer.
    while (this.heldBytes >= this.neededBytes) {
      const joined: Buffer = this.held.length === 1 ? this.held[0]! : Buffer.concat(this.held);
      this.held = [joined];
      const length = joined.length >= 4 ? joined.readInt32BE(0) : 0;
      this.neededBytes = 4 + length;
      if (joined.length < Math.max(5, this.neededBytes)) return;
      const frame = new Uint8Array(joined.subarray(4, 4 + length));
      this.held = [joined.subarray(4 + length)];
      this.heldBytes = joined.length - 4 - length;
      this.neededBytes = 4;
      const waiter = this.waiting.shift();
      if (waiter) waiter(frame);
      else this.frames.push(frame);
    }
  }
}
