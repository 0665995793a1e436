/**
 * What a group wants done: answers, timers and writes, in order, until the coordinator takes them.
 * Invariant: a write that was asked for is settled at most once.
 */
import type { KafkaErrorName } from "../base/kafka_error.ts";
import type { GroupEvent, GroupSnapshot, JoinAnswer, SyncAnswer, TimerName } from "./group_types.ts";
import type { Ticket } from "./membership.ts";

/** What to do once a write is durable, or has failed. */
export interface PendingStore {
  stored(): void;
  failed(error: KafkaErrorName): void;
}

export class Outbox {
  private events: GroupEvent[] = [];
  private readonly stores = new Map<number, PendingStore>();
  private storesMade = 0;

  take(): GroupEvent[] {
    const events = this.events;
    this.events = [];
    return events;
  }

  answerJoin(ticket: Ticket, answer: JoinAnswer): void {
    this.events.push({ kind: "answerJoin", ticket, answer });
  }

  answerSync(ticket: Ticket, answer: SyncAnswer): void {
    this.events.push({ kind: "answerSync", ticket, answer });
  }

  startTimer(timer: TimerName, delayMs: number): void {
    this.events.push({ kind: "startTimer", timer, delayMs });
  }

  stopTimer(timer: TimerName): void {
    this.events.push({ kind: "stopTimer", timer });
  }

  store(snapshot: GroupSnapshot, pending: PendingStore): void {
    const storeId = ++this.storesMade;
    this.stores.set(storeId, pending);
    this.events.push({ kind: "store", storeId, snapshot });
  }

  /** The continuation of a write; undefined when it was settled or dropped before. */
  settle(storeId: number): PendingStore | undefined {
    const pending = this.stores.get(storeId);
    this.stores.delete(storeId);
    return pending;
  }
}
