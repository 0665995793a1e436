/**
 * All groups of the node: makes and forgets them, carries out what their state machines ask for (answers, timers, writes),
 * reads them back at start, and expires what nobody uses.
 * Invariants: a group's partition of the log follows from its id; its records are appended in the order of its decisions;
 * a request that waits is answered exactly once.
 */
import type { Timer } from "../base/clock.ts";
import { KafkaError, type KafkaErrorName } from "../base/kafka_error.ts";
import {
  type CoordinatorParts,
  type CoordinatorSettings,
  defaultSettings,
  newMemberJoinTimeoutMs,
} from "./coordinator_types.ts";
import { Group } from "./group.ts";
import { type CommittedOffset, GroupOffsets } from "./group_offsets.ts";
import { groupRecord, offsetRecord } from "./group_records.ts";
import type {
  GroupOptions,
  GroupSnapshot,
  JoinAnswer,
  JoinInput,
  SyncAnswer,
  SyncInput,
  TimerName,
} from "./group_types.ts";
import { type KeyedRecord, partitionOfGroup } from "./offsets_log.ts";
import { readStoredGroups, type StoredGroup } from "./stored_groups.ts";

export interface GroupEntry {
  readonly group: Group;
  readonly offsets: GroupOffsets;
  readonly timers: Map<TimerName, Timer>;
  /** What the log says of the group; undefined when it says nothing but its offsets. */
  stored: GroupSnapshot | undefined;
}

/** An offset to write; undefined deletes. */
export interface OffsetWrite {
  topic: string;
  partition: number;
  committed: CommittedOffset | undefined;
}

export class Registry {
  readonly settings: CoordinatorSettings;
  readonly parts: CoordinatorParts;
  private readonly groups = new Map<string, GroupEntry>();
  private readonly groupOptions: GroupOptions;
  private readonly joins = new Map<number, (answer: JoinAnswer) => void>();
  private readonly syncs = new Map<number, (answer: SyncAnswer) => void>();
  /** Per partition of the log: settles when everything appended so far is durable or has failed. */
  private readonly lastWrites = new Map<number, Promise<void>>();
  private readonly compacting = new Set<number>();
  private ticketsMade = 0;
  private readonly loaded = new Set<number>();
  private loadTimer: Timer | undefined;
  private expiryTimer: Timer | undefined;
  private crowdedSince = Number.NEGATIVE_INFINITY;

  constructor(parts: CoordinatorParts) {
    this.parts = parts;
    this.settings = { ...defaultSettings, ...parts.settings };
    this.groupOptions = {
      initialRebalanceDelayMs: this.settings.initialRebalanceDelayMs,
      newMemberJoinTimeoutMs,
      membersMax: this.settings.membersMax,
    };
  }

  // ---- Finding and making

  /** The group, if there is one. While its part of the log cannot be read (`isLoaded`), there seems to be none. */
  get(groupId: string): GroupEntry | undefined {
    this.isLoaded(groupId);
    return this.groups.get(groupId);
  }

  /** All groups that can be read. */
  entries(): IterableIterator<GroupEntry> {
    for (let partition = 0; partition < this.parts.log.partitionCount; partition++) this.load(partition);
    return this.groups.values();
  }

  /** The group, made if new; ask `isLoaded` first. Throws COORDINATOR_NOT_AVAILABLE when there are too many. */
  getOrCreate(groupId: string): GroupEntry {
    const known = this.get(groupId);
    if (known) return known;
    if (this.groups.size >= this.settings.groupsMax) {
      this.warnCrowded();
      throw new KafkaError(
        "COORDINATOR_NOT_AVAILABLE",
        `There are ${this.settings.groupsMax} consumer groups already.`,
      );
    }
    return this.put(new Group(groupId, this.groupOptions, this.wallMs));
  }

  private put(group: Group, offsets = new GroupOffsets()): GroupEntry {
    const entry: GroupEntry = { group, offsets, timers: new Map(), stored: undefined };
    this.groups.set(group.groupId, entry);
    return entry;
  }

  private warnCrowded(): void {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - this.crowdedSince < 60_000) return;
    this.crowdedSince = nowMs;
    this.parts.logger.warn(
      "no new consumer group: there are too many; delete some with kafka-consumer-groups --delete",
      {
        groupsMax: this.settings.groupsMax,
      },
    );
  }

  private readonly wallMs = () => this.parts.clock.nowMs();

  // ---- Driving a group

  join(entry: GroupEntry, input: JoinInput): Promise<JoinAnswer> {
    const ticket = ++this.ticketsMade;
    return new Promise((resolve) => {
      this.joins.set(ticket, resolve);
      entry.group.join(input, ticket);
      this.run(entry);
    });
  }

  sync(entry: GroupEntry, input: SyncInput): Promise<SyncAnswer> {
    const ticket = ++this.ticketsMade;
    return new Promise((resolve) => {
      this.syncs.set(ticket, resolve);
      entry.group.sync(input, ticket);
      this.run(entry);
    });
  }

  /** Carries out what the group asked for since the last time. To be called after every input to a group. */
  run(entry: GroupEntry): void {
    for (const event of entry.group.takeEvents()) {
      if (event.kind === "answerJoin") this.answer(this.joins, event.ticket, event.answer);
      else if (event.kind === "answerSync") this.answer(this.syncs, event.ticket, event.answer);
      else if (event.kind === "startTimer") this.startTimer(entry, event.timer, event.delayMs);
      else if (event.kind === "stopTimer") this.stopTimer(entry, event.timer);
      else this.store(entry, event.storeId, event.snapshot);
    }
  }

  private answer<Answer>(waiting: Map<number, (answer: Answer) => void>, ticket: number, answer: Answer): void {
    const resolve = waiting.get(ticket);
    waiting.delete(ticket);
    resolve?.(answer);
  }

  private startTimer(entry: GroupEntry, name: TimerName, delayMs: number): void {
    entry.timers.get(name)?.cancel();
    const timer = this.parts.clock.setTimer(delayMs, () => {
      if (entry.timers.get(name) !== timer) return;
      entry.timers.delete(name);
      entry.group.timerFired(name);
      this.run(entry);
    });
    entry.timers.set(name, timer);
  }

  private stopTimer(entry: GroupEntry, name: TimerName): void {
    entry.timers.get(name)?.cancel();
    entry.timers.delete(name);
  }

  private store(entry: GroupEntry, storeId: number, snapshot: GroupSnapshot): void {
    const settle = (error?: KafkaErrorName) => {
      entry.group.stored(storeId, error);
      this.run(entry);
    };
    this.write(entry, snapshot).then(
      () => settle(),
      (error: unknown) => settle(clientError(error)),
    );
  }

  private async write(entry: GroupEntry, snapshot: GroupSnapshot): Promise<void> {
    const { groupId } = entry.group;
    const before = entry.stored;
    entry.stored = snapshot;
    try {
      await this.append(groupId, [groupRecord(groupId, snapshot)]);
    } catch (error) {
      if (entry.stored === snapshot) entry.stored = before;
      this.parts.logger.error("could not store a consumer group", { group: groupId, error: String(error) });
      throw error;
    }
  }

  // ---- Writing

  /** Appends records of one group; resolves once durable, rejects with what went wrong. */
  append(groupId: string, records: readonly KeyedRecord[]): Promise<void> {
    const partition = partitionOfGroup(groupId, this.parts.log.partitionCount);
    let done: Promise<void>;
    try {
      done = this.parts.log.append(partition, records);
    } catch (error) {
      done = Promise.reject(error);
    }
    const settled = done.then(
      () => this.compactIfLong(partition),
      () => undefined,
    );
    this.lastWrites.set(partition, settled);
    return done;
  }

  /** Compaction: whatever of the partition is still true is appended again, and what was before is dropped. */
  private compactIfLong(partition: number): void {
    if (this.compacting.has(partition) || !this.parts.log.isLong(partition)) return;
    const records: KeyedRecord[] = [];
    for (const { group, offsets, stored } of this.groups.values()) {
      const { groupId } = group;
      if (partitionOfGroup(groupId, this.parts.log.partitionCount) !== partition) continue;
      if (stored) records.push(groupRecord(groupId, stored));
      for (const { topic, partitions } of offsets.writtenTopics())
        for (const one of partitions) records.push(offsetRecord(groupId, topic, one.partition, one.committed));
    }
    this.compacting.add(partition);
    this.parts.log
      .compact(partition, records)
      .catch((error: unknown) => {
        this.parts.logger.warn("could not compact __consumer_offsets", { partition, error: String(error) });
      })
      .finally(() => this.compacting.delete(partition));
  }

  /** Resolves when everything that was written for this group so far is durable or has failed. */
  async writesDone(groupId: string): Promise<void> {
    await this.lastWrites.get(partitionOfGroup(groupId, this.parts.log.partitionCount));
  }

  /** Writes offsets of a group, with further records in the same append; readers see them once durable. */
  async writeOffsets(
    entry: GroupEntry,
    writes: readonly OffsetWrite[],
    more: readonly KeyedRecord[] = [],
  ): Promise<void> {
    const { groupId } = entry.group;
    const records = writes.map((one) => offsetRecord(groupId, one.topic, one.partition, one.committed));
    const settles = writes.map((one) => entry.offsets.write(one.topic, one.partition, one.committed));
    try {
      await this.append(groupId, [...records, ...more]);
    } catch (error) {
      for (const settle of settles) settle(false);
      throw error;
    }
    for (const settle of settles) settle(true);
  }

  /** Makes an empty group known to the log, so that it survives a restart. Not waited for: it holds nothing yet. */
  storeNew(entry: GroupEntry): void {
    this.write(entry, { ...simple, stateTimestampMs: entry.group.stateTimestampMs }).catch(() => undefined);
  }

  /** Deletes a group with its offsets. Whoever waits in it is answered. If the write fails, the group is back. */
  async remove(entry: GroupEntry): Promise<void> {
    const { group } = entry;
    const snapshot = group.snapshot();
    const deletions: OffsetWrite[] = [];
    for (const { topic, partitions } of entry.offsets.writtenTopics()) {
      for (const { partition } of partitions) deletions.push({ topic, partition, committed: undefined });
    }
    group.close("COORDINATOR_NOT_AVAILABLE");
    this.run(entry);
    this.groups.delete(group.groupId);
    try {
      await this.writeOffsets(entry, deletions, [groupRecord(group.groupId, undefined)]);
    } catch (error) {
      if (!this.groups.has(group.groupId)) {
        const restored = Group.restore(group.groupId, snapshot, this.groupOptions, this.wallMs);
        restored.startSessions();
        const again = this.put(restored, entry.offsets);
        again.stored = entry.stored;
        this.run(again);
      }
      throw error;
    }
  }

  // ---- Starting, expiring, stopping

  /** Starts to read the groups back, a partition at a time, so that requests are answered meanwhile. */
  start(): void {
    this.loadTimer = this.parts.clock.setTimer(0, () => this.loadNext(0));
    this.scheduleExpiry();
  }

  private loadNext(partition: number): void {
    if (partition >= this.parts.log.partitionCount) return;
    this.load(partition);
    this.loadTimer = this.parts.clock.setTimer(0, () => this.loadNext(partition + 1));
  }

  /**
   * Whether the group's part of the log has been read; reads it if not. While it cannot be read, its groups are not served:
   * taking them for new would lose their offsets.
   */
  isLoaded(groupId: string): boolean {
    return this.load(partitionOfGroup(groupId, this.parts.log.partitionCount));
  }

  private load(partition: number): boolean {
    if (this.loaded.has(partition)) return true;
    let stored: Map<string, StoredGroup>;
    try {
      stored = readStoredGroups(this.parts.log, partition, this.parts.logger);
    } catch (error) {
      this.parts.logger.error("could not read consumer groups back", { partition, error: String(error) });
      return false;
    }
    this.loaded.add(partition);
    for (const [groupId, { snapshot, offsets }] of stored) {
      const group = snapshot
        ? Group.restore(groupId, snapshot, this.groupOptions, this.wallMs)
        : new Group(groupId, this.groupOptions, this.wallMs);
      const entry = this.put(group, offsets);
      entry.stored = snapshot;
      group.startSessions();
      this.run(entry);
    }
    return true;
  }

  private scheduleExpiry(): void {
    this.expiryTimer = this.parts.clock.setTimer(this.settings.offsetsRetentionCheckMs, () => {
      this.expire().catch((error: unknown) => {
        this.parts.logger.error("could not store the expiry of committed offsets", { error: String(error) });
      });
      this.scheduleExpiry();
    });
  }

  /**
   * Deletes offsets past their retention, and empty groups that have none left. Retention counts from when a group became
   * empty (KIP-211), for groups without members from each commit; what a live group subscribes to never expires.
   */
  async expire(): Promise<void> {
    const writes: Promise<void>[] = [];
    for (const entry of [...this.entries()]) {
      const { kept, expired } = this.expiredOffsets(entry);
      if (!kept && entry.group.state === "Empty") writes.push(this.remove(entry));
      else if (expired.length > 0) writes.push(this.writeOffsets(entry, expired));
    }
    await Promise.all(writes);
  }

  private expiredOffsets({ group, offsets }: GroupEntry): { kept: boolean; expired: OffsetWrite[] } {
    const nowMs = this.wallMs();
    const expired: OffsetWrite[] = [];
    let kept = false;
    const emptied = group.protocolType !== undefined && group.state === "Empty" && group.stateTimestampMs >= 0;
    const live = group.protocolType !== undefined && group.state !== "Empty";
    const knowsTopics = group.state === "Stable" && group.isConsumerGroup && group.subscribedTopics !== undefined;
    for (const { topic, partitions } of offsets.writtenTopics()) {
      const inUse = live && (!knowsTopics || group.isSubscribedTo(topic));
      for (const { partition, committed } of partitions) {
        const sinceMs = emptied ? group.stateTimestampMs : committed.commitTimestampMs;
        const over =
          committed.expireTimestampMs >= 0
            ? nowMs >= committed.expireTimestampMs
            : nowMs - sinceMs >= this.settings.offsetsRetentionMs;
        if (over && !inUse) expired.push({ topic, partition, committed: undefined });
        else kept = true;
      }
    }
    return { kept, expired };
  }

  /** Forgets every group's offsets of a deleted topic. */
  async topicDeleted(name: string): Promise<void> {
    const writes: Promise<void>[] = [];
    for (const entry of this.entries()) {
      const topic = entry.offsets.writtenTopics().find((one) => one.topic === name);
      if (!topic) continue;
      const deletions = topic.partitions.map(({ partition }) => ({ topic: name, partition, committed: undefined }));
      writes.push(this.writeOffsets(entry, deletions));
    }
    await Promise.all(writes);
  }

  /** Answers everyone who waits and stops all timers. Groups stay in the log as they are. */
  async close(): Promise<void> {
    this.loadTimer?.cancel();
    this.expiryTimer?.cancel();
    for (const entry of this.groups.values()) {
      entry.group.close("NOT_COORDINATOR");
      this.run(entry);
      for (const timer of entry.timers.values()) timer.cancel();
    }
    this.groups.clear();
    // Nothing is read back any more.
    for (let partition = 0; partition < this.parts.log.partitionCount; partition++) this.loaded.add(partition);
    await Promise.all(this.lastWrites.values());
  }
}

/** A group that never had members. */
const simple: GroupSnapshot = {
  protocolType: "",
  generation: 0,
  protocol: null,
  leader: null,
  stateTimestampMs: -1,
  members: [],
};

/** What a client is told when a write failed: to look for the coordinator again, or that it will never work. */
export function clientError(error: unknown): KafkaErrorName {
  if (!(error instanceof KafkaError)) return "UNKNOWN_SERVER_ERROR";
  if (error.errorName === "KAFKA_STORAGE_ERROR") return "NOT_COORDINATOR";
  if (error.errorName === "MESSAGE_TOO_LARGE") return "UNKNOWN_SERVER_ERROR";
  return error.errorName;
}
