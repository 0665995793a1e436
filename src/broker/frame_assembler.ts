/**
 * Cuts a connection's bytes into request frames (4 bytes big-endian length, then that many bytes).
 *
 * A frame that lies whole in what arrived is a view of it; one that is spread is gathered in one buffer, which grows
 * with what really arrives, so that a peer that only announces 100 MB costs nothing.
 */
import { BufferPool } from "../base/buffer_pool.ts";
import { limits } from "../base/limits.ts";

/** The peer announced a frame that is negative or too large: nothing after it can be understood. */
export class FrameError extends Error {
  override name = "FrameError";
}

/** Frames that are spread over several reads lie in these; the produce path gives them back. */
export const framePool = new BufferPool(limits.framePoolBytesMax);

/** Frames up to this size get their buffer at once; memory that is not written to is not resident. */
const trustedBytes = 2 * 1024 * 1024;
/** As much is trusted to a connection that has really sent a frame of that size. */
const provenBytesMax = 16 * 1024 * 1024;

export class FrameAssembler {
  private readonly lengthBytes = new Uint8Array(4);
  private lengthFilled = 0;
  private frame: Uint8Array | undefined;
  private frameLength = 0;
  private filled = 0;
  private trusted = trustedBytes;

  /**
   * Gives each frame that is complete to `take`; throws a FrameError at the first bad length. Says whether a frame was
   * a view of the chunk; otherwise nobody needs the chunk's memory any more.
   */
  push(chunk: Uint8Array, take: (frame: Uint8Array) => void): boolean {
    let at = 0;
    let gaveView = false;
    while (at < chunk.length) {
      if (this.frame) {
        at += this.fill(chunk, at);
        if (this.filled < this.frameLength) break;
        const done = this.frame.subarray(0, this.frameLength);
        this.frame = undefined;
        this.trusted = Math.min(Math.max(this.trusted, this.frameLength), provenBytesMax);
        take(done);
        continue;
      }
      while (this.lengthFilled < 4 && at < chunk.length) this.lengthBytes[this.lengthFilled++] = chunk[at++]!;
      if (this.lengthFilled < 4) break;
      this.lengthFilled = 0;
      const length = this.length();
      if (at + length <= chunk.length) {
        gaveView = true;
        take(chunk.subarray(at, at + length));
        at += length;
      } else {
        this.frameLength = length;
        this.filled = 0;
        this.frame = framePool.take(Math.min(length, Math.max(this.trusted, chunk.length - at)));
      }
    }
    return gaveView;
  }

  /** Bytes held for a frame that is not complete. */
  get heldBytes(): number {
    return this.frame?.length ?? 0;
  }

  private fill(chunk: Uint8Array, at: number): number {
    const take = Math.min(chunk.length - at, this.frameLength - this.filled);
    let frame = this.frame!;
    if (this.filled + take > frame.length) {
      const grown = framePool.take(Math.min(this.frameLength, Math.max(2 * frame.length, this.filled + take)));
      grown.set(frame.subarray(0, this.filled));
      framePool.give(frame.buffer);
      frame = grown;
      this.frame = frame;
    }
    frame.set(at === 0 && take === chunk.length ? chunk : chunk.subarray(at, at + take), this.filled);
    this.filled += take;
    return take;
  }

  private length(): number {
    const [a, b, c, d] = this.lengthBytes as unknown as [number, number, number, number];
    const length = (a << 24) | (b << 16) | (c << 8) | d;
    if (length < 0 || length > limits.requestFrameBytesMax)
      throw new FrameError(`a request of ${length} bytes; at most ${limits.requestFrameBytesMax} are accepted`);
    return length;
  }
}
