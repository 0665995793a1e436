/**
 * One client connection: requests in, answers out in the order of their requests.
 *
 * A request starts when all earlier ones of its connection are answered, as in Apache Kafka, except that a Produce may
 * start behind other Produces, so that pipelined batches share one write and one sync. Answers that the peer does not
 * read are held up to a limit; past it the connection's requests are not read either (back-pressure on that peer alone).
 */
import { Buffer } from "node:buffer";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { readBuffers } from "../log/reader.ts";
import type { TcpConnection, TcpPeer } from "../platform/tcp.ts";
import { FrameAssembler } from "./frame_assembler.ts";
import { ConnectionMustClose } from "./handler.ts";

/** A request as the dispatcher understood it, ready to run. */
export interface StartableRequest {
  /** Produce requests may run behind each other. */
  readonly isProduce: boolean;
  /** Gives the answer's bytes, frame length included; null when the request has no answer (acks=0). */
  run(): Promise<Uint8Array[] | null> | Uint8Array[] | null;
}

export interface ConnectionOwner {
  /** Reads a frame's header and body; throws for what cannot be understood, which closes the connection. */
  decode(frame: Uint8Array, connection: Connection): StartableRequest;
  closed(connection: Connection): void;
}

/** The place of one answer in the order of answers. */
interface Slot {
  answer: Uint8Array[] | undefined;
}

/** How long a connection that we have ended waits for the peer's end, in milliseconds. */
const lingerMs = 1_000;

/** Answers up to this size are gathered into one write. */
const gatherBytesMax = 64 * 1024;

export class Connection implements TcpPeer {
  readonly id: number;
  readonly tcp: TcpConnection;
  private readonly owner: ConnectionOwner;
  private readonly logger: Logger;
  private readonly frames = new FrameAssembler();
  /** Requests that wait for earlier ones. */
  private readonly waiting: StartableRequest[] = [];
  private readonly slots: Slot[] = [];
  private running = 0;
  private runningProduces = 0;
  private readonly unsent: Uint8Array[] = [];
  private unsentBytes = 0;
  private flushQueued = false;
  private paused = false;
  private halfClosed = false;
  private closing = false;
  private ending = false;
  private gone = false;
  private readonly closeListeners = new Set<() => void>();
  /** Monotonic milliseconds of the last request or answer; the owner's sweep closes idle connections by it. */
  lastActiveMs: number;
  /** What ApiVersions told of the client's software, for logs. */
  clientSoftware = "";

  constructor(id: number, tcp: TcpConnection, owner: ConnectionOwner, logger: Logger) {
    this.id = id;
    this.tcp = tcp;
    this.owner = owner;
    this.logger = logger;
    this.lastActiveMs = performance.now();
  }

  get isClosed(): boolean {
    return this.gone;
  }

  /** No request is in flight and nothing is unsent. */
  get isIdle(): boolean {
    return this.slots.length === 0 && this.waiting.length === 0 && this.unsentBytes === 0;
  }

  get heldAnswerBytes(): number {
    return this.unsentBytes;
  }

  /** `fn` is called once when the connection goes away; the result takes it back. For long polls. */
  onClose(fn: () => void): () => void {
    this.closeListeners.add(fn);
    return () => this.closeListeners.delete(fn);
  }

  received(bytes: Uint8Array): boolean {
    if (this.gone || this.closing) return false;
    this.lastActiveMs = performance.now();
    let isHeld = true;
    try {
      isHeld = this.frames.push(bytes, (frame) => {
        if (this.closing) return;
        this.waiting.push(this.owner.decode(frame, this));
      });
    } catch (error) {
      this.refuse(error);
    }
    this.startWaiting();
    this.applyBackPressure();
    return !isHeld;
  }

  drained(): void {
    if (this.gone) return;
    this.send();
    this.startWaiting();
    this.applyBackPressure();
  }

  /** The peer has sent everything; what it asked for is still answered. */
  ended(): void {
    this.halfClosed = true;
    this.endWhenIdle();
  }

  closed(): void {
    if (this.gone) return;
    this.gone = true;
    this.waiting.length = 0;
    this.unsent.length = 0;
    this.unsentBytes = 0;
    for (const listener of this.closeListeners) listener();
    this.closeListeners.clear();
    this.owner.closed(this);
  }

  /** Takes no further requests, answers those in flight, then closes. */
  drain(): void {
    this.closing = true;
    this.waiting.length = 0;
    for (const listener of this.closeListeners) listener();
    this.closeListeners.clear();
    this.endWhenIdle();
  }

  terminate(): void {
    if (!this.gone) this.tcp.terminate();
    this.closed();
  }

  private refuse(error: unknown): void {
    this.logger.warn("closed a connection that sent what cannot be understood", {
      connection: this.id,
      peer: `${this.tcp.remoteAddress}:${this.tcp.remotePort}`,
      reason: (error as Error).message,
    });
    this.drain();
  }

  private startWaiting(): void {
    // What the peer does not read must not pile up: its next request waits until it has read.
    while (this.waiting.length > 0 && !this.gone && this.unsentBytes <= limits.connectionUnsentBytesMax) {
      const next = this.waiting[0]!;
      if (this.running > 0 && !(next.isProduce && this.runningProduces === this.running)) return;
      this.waiting.shift();
      this.start(next);
    }
  }

  private start(request: StartableRequest): void {
    const slot: Slot = { answer: undefined };
    this.slots.push(slot);
    this.running++;
    if (request.isProduce) this.runningProduces++;
    let outcome: ReturnType<StartableRequest["run"]>;
    try {
      outcome = request.run();
    } catch (error) {
      this.failed(error);
      return;
    }
    if (outcome instanceof Promise) {
      outcome.then(
        (answer) => this.finished(request, slot, answer),
        (error) => this.failed(error),
      );
    } else this.finished(request, slot, outcome);
  }

  private finished(request: StartableRequest, slot: Slot, answer: Uint8Array[] | null): void {
    slot.answer = answer ?? [];
    this.running--;
    if (request.isProduce) this.runningProduces--;
    if (this.gone) return;
    this.lastActiveMs = performance.now();
    while (this.slots.length > 0 && this.slots[0]!.answer !== undefined) {
      for (const chunk of this.slots.shift()!.answer!) {
        if (chunk.length === 0) continue;
        this.unsent.push(chunk);
        this.unsentBytes += chunk.length;
      }
    }
    if (!this.flushQueued) {
      this.flushQueued = true;
      queueMicrotask(() => {
        this.flushQueued = false;
        this.send();
        this.startWaiting();
        this.applyBackPressure();
      });
    }
  }

  /** A handler failed in a way that it has no answer for: a fault of ours. The peer must not wait for ever. */
  private failed(error: unknown): void {
    if (error instanceof ConnectionMustClose) {
      this.terminate();
      return;
    }
    const { message, stack } = error as Error;
    this.logger.error("a request failed inside the node; its connection is closed", {
      connection: this.id,
      reason: message,
      stack,
    });
    this.terminate();
  }

  private send(): void {
    while (this.unsent.length > 0 && !this.gone) {
      this.gather();
      const chunk = this.unsent[0]!;
      const taken = this.tcp.write(chunk);
      if (taken < 0) {
        this.terminate();
        return;
      }
      this.unsentBytes -= taken;
      if (taken < chunk.length) {
        this.unsent[0] = chunk.subarray(taken);
        return;
      }
      this.unsent.shift();
      if (this.tcp.copiesWrites) readBuffers.give(chunk.buffer);
    }
    this.endWhenIdle();
  }

  /** Joins small chunks at the head, so that one answer costs one system call. */
  private gather(): void {
    if (this.unsent.length < 2) return;
    let count = 0;
    let bytes = 0;
    while (count < this.unsent.length && bytes + this.unsent[count]!.length <= gatherBytesMax)
      bytes += this.unsent[count++]!.length;
    if (count > 1) this.unsent.splice(0, count, Buffer.concat(this.unsent.slice(0, count), bytes));
  }

  private applyBackPressure(): void {
    if (this.gone) return;
    const full =
      this.unsentBytes > limits.connectionUnsentBytesMax ||
      this.slots.length + this.waiting.length > limits.connectionInFlightMax;
    if (full === this.paused) return;
    this.paused = full;
    if (full) this.tcp.pause();
    else this.tcp.resume();
  }

  private endWhenIdle(): void {
    if (!(this.halfClosed || this.closing) || this.gone || this.ending || !this.isIdle) return;
    this.ending = true;
    this.tcp.end();
    // A peer that never closes its side must not keep the connection.
    setTimeout(() => this.terminate(), lingerMs).unref?.();
  }
}
