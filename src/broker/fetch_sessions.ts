/**
 * Incremental fetch sessions (KIP-227): a consumer names its partitions once; later requests say only what changed, and
 * answers hold only partitions that have something to tell.
 *
 * Invariants: a session's next request must carry its next epoch; a partition is told when it has records, an error, or
 * another high watermark or log start than the client was last told; sessions and their partitions are bounded, and
 * sessions in use are never pushed out by new ones.
 */
import { errorCodes } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Uuid } from "../base/uuid.ts";

/** A session unused for this long gives its place to a new one (min.incremental.fetch.session.eviction.ms). */
const evictionMs = 120_000;
const noSession = 0;
const initialEpoch = 0;
const finalEpoch = -1;
const int32Max = 0x7fffffff;

/** A partition as a request names it: by topic name, or by topic id from Fetch version 13. */
export interface PartitionName {
  topic: string;
  topicId: Uuid;
  partition: number;
}

/** What a fetch asks of a partition. */
export interface PartitionWish extends PartitionName {
  fetchOffset: number;
  maxBytes: number;
  currentLeaderEpoch: number;
  lastFetchedEpoch: number;
  logStartOffset: number;
}

/** What reading a partition gave. */
export interface PartitionResult {
  errorCode: number;
  highWatermark: number;
  logStartOffset: number;
  /** Bytes of records. */
  bytes: number;
}

export interface SessionRequest {
  sessionId: number;
  sessionEpoch: number;
  /** Whether partitions are named by topic id. */
  usesTopicIds: boolean;
  partitions: readonly PartitionWish[];
  forgotten: readonly PartitionName[];
}

/** One fetch: what to read, in this order, and what of it to answer. */
export interface FetchPlan {
  /** An error for the whole request; then there is nothing to read. */
  errorCode: number;
  partitions: readonly PartitionWish[];
  /** Takes one result per partition, in order; says which of them belong into the answer. To be called once. */
  finish(results: readonly PartitionResult[]): { errorCode: number; sessionId: number; included: boolean[] };
}

interface CachedPartition {
  wish: PartitionWish;
  /** As the client was last told; -1 makes the next answer tell it. */
  highWatermark: number;
  logStartOffset: number;
}

interface Session {
  readonly id: number;
  readonly usesTopicIds: boolean;
  epoch: number;
  lastUsedMs: number;
  /** In the order in which they are read: those that gave records go to the end, so that all get their turn. */
  readonly partitions: Map<string, CachedPartition>;
}

export interface FetchSessionOptions {
  /** Milliseconds that never step back. */
  nowMs(): number;
  sessionsMax?: number;
  partitionsMax?: number;
  /** A number in [0, 1); decides session ids. */
  random?(): number;
}

export class FetchSessions {
  private readonly nowMs: () => number;
  private readonly random: () => number;
  private readonly sessionsMax: number;
  private readonly partitionsMax: number;
  /** From least to most recently used. */
  private readonly sessions = new Map<number, Session>();
  private partitionCount = 0;

  constructor(options: FetchSessionOptions) {
    this.nowMs = options.nowMs;
    this.random = options.random ?? Math.random;
    this.sessionsMax = options.sessionsMax ?? limits.fetchSessionsMax;
    this.partitionsMax = options.partitionsMax ?? limits.fetchSessionPartitionsMax;
  }

  /** Open sessions. */
  get size(): number {
    return this.sessions.size;
  }

  /** Partitions of all sessions. */
  get totalPartitions(): number {
    return this.partitionCount;
  }

  /** Epoch 0 asks for a new session, -1 for none; both name all partitions and close the session named, if any. */
  plan(request: SessionRequest): FetchPlan {
    if (request.sessionEpoch === initialEpoch || request.sessionEpoch === finalEpoch) {
      const former = this.sessions.get(request.sessionId);
      if (former) this.drop(former);
      return this.full(request, request.sessionEpoch === initialEpoch);
    }
    const session = this.sessions.get(request.sessionId);
    if (!session) return failure(errorCodes.FETCH_SESSION_ID_NOT_FOUND);
    if (session.epoch !== request.sessionEpoch) return failure(errorCodes.INVALID_FETCH_SESSION_EPOCH);
    if (session.usesTopicIds !== request.usesTopicIds) return failure(errorCodes.FETCH_SESSION_TOPIC_ID_ERROR);
    this.update(session, request);
    if (session.partitions.size === 0 || this.partitionCount > this.partitionsMax) {
      this.drop(session);
      // Too many partitions: the client starts over without a session.
      if (session.partitions.size > 0) return failure(errorCodes.FETCH_SESSION_ID_NOT_FOUND);
      return this.full(request, false);
    }
    session.epoch = nextEpoch(session.epoch);
    this.touch(session);
    return this.incremental(session);
  }

  private full(request: SessionRequest, wantsSession: boolean): FetchPlan {
    const wishes = new Map(request.partitions.map((wish) => [keyOf(wish, request.usesTopicIds), wish]));
    const partitions = [...wishes.values()];
    return {
      errorCode: 0,
      partitions,
      finish: (results) => {
        const sessionId = wantsSession ? this.create(request.usesTopicIds, partitions, results) : noSession;
        return { errorCode: 0, sessionId, included: results.map(() => true) };
      },
    };
  }

  private create(usesTopicIds: boolean, wishes: PartitionWish[], results: readonly PartitionResult[]): number {
    if (this.partitionCount + wishes.length > this.partitionsMax) return noSession;
    if (this.sessions.size >= this.sessionsMax) {
      const oldest: Session | undefined = this.sessions.values().next().value;
      if (!oldest || this.nowMs() - oldest.lastUsedMs <= evictionMs) return noSession;
      this.drop(oldest);
    }
    const session: Session = {
      id: this.newId(),
      usesTopicIds,
      epoch: nextEpoch(initialEpoch),
      lastUsedMs: this.nowMs(),
      partitions: new Map(),
    };
    for (let index = 0; index < wishes.length; index++) {
      const wish = wishes[index]!;
      const cached: CachedPartition = { wish, highWatermark: -1, logStartOffset: -1 };
      tells(cached, results[index]!);
      session.partitions.set(keyOf(wish, usesTopicIds), cached);
    }
    this.partitionCount += session.partitions.size;
    this.sessions.set(session.id, session);
    return session.id;
  }

  private update(session: Session, request: SessionRequest): void {
    const before = session.partitions.size;
    for (const wish of request.partitions) {
      const key = keyOf(wish, session.usesTopicIds);
      const cached = session.partitions.get(key);
      if (cached) cached.wish = wish;
      else session.partitions.set(key, { wish, highWatermark: -1, logStartOffset: -1 });
    }
    for (const name of request.forgotten) session.partitions.delete(keyOf(name, session.usesTopicIds));
    this.partitionCount += session.partitions.size - before;
  }

  private incremental(session: Session): FetchPlan {
    const { epoch } = session;
    const entries = [...session.partitions];
    return {
      errorCode: 0,
      partitions: entries.map(([, cached]) => cached.wish),
      finish: (results) => {
        // A later request of this session came while this one was read: the client must not use both answers.
        if (session.epoch !== epoch) {
          const errorCode = errorCodes.INVALID_FETCH_SESSION_EPOCH;
          return { errorCode, sessionId: session.id, included: results.map(() => false) };
        }
        const included = entries.map(([key, cached], index) => {
          const result = results[index]!;
          if (result.bytes > 0 && session.partitions.delete(key)) session.partitions.set(key, cached);
          return tells(cached, result);
        });
        return { errorCode: 0, sessionId: session.id, included };
      },
    };
  }

  private touch(session: Session): void {
    session.lastUsedMs = this.nowMs();
    this.sessions.delete(session.id);
    this.sessions.set(session.id, session);
  }

  private drop(session: Session): void {
    if (this.sessions.delete(session.id)) this.partitionCount -= session.partitions.size;
  }

  private newId(): number {
    for (;;) {
      const id = 1 + Math.floor(this.random() * (int32Max - 1));
      if (!this.sessions.has(id)) return id;
    }
  }
}

/** Whether a result is news for the client; remembers what it is told. */
function tells(cached: CachedPartition, result: PartitionResult): boolean {
  const changed = cached.highWatermark !== result.highWatermark || cached.logStartOffset !== result.logStartOffset;
  // After an error the partition is told again, even unchanged, so that the client learns that the error is gone.
  cached.highWatermark = result.errorCode === 0 ? result.highWatermark : -1;
  cached.logStartOffset = result.logStartOffset;
  return changed || result.bytes > 0 || result.errorCode !== 0;
}

function keyOf(name: PartitionName, usesTopicIds: boolean): string {
  return `${usesTopicIds ? name.topicId : name.topic}-${name.partition}`;
}

function nextEpoch(epoch: number): number {
  return epoch >= int32Max ? 1 : epoch + 1;
}

function failure(errorCode: number): FetchPlan {
  return {
    errorCode,
    partitions: [],
    finish: () => ({ errorCode, sessionId: noSession, included: [] }),
  };
}
