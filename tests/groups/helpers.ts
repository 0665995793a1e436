/** A coordinator on a clock that stands still, and short ways to play a client. */
import { ManualClock } from "../../src/base/clock.ts";
import { errorName } from "../../src/base/kafka_error.ts";
import { silentLogger } from "../../src/base/log.ts";
import { GroupCoordinator } from "../../src/groups/coordinator.ts";
import type { Caller, CoordinatorSettings } from "../../src/groups/coordinator_types.ts";
import { MemoryOffsetsLog, type OffsetsLog } from "../../src/groups/offsets_log.ts";
import {
  newConsumerProtocolSubscription,
  writeConsumerProtocolSubscription,
} from "../../src/protocol/generated/consumer_protocol_subscription.ts";
import { type JoinGroupRequest, newJoinGroupRequest } from "../../src/protocol/generated/join_group_request.ts";
import {
  newOffsetCommitRequest,
  newOffsetCommitRequestPartition,
} from "../../src/protocol/generated/offset_commit_request.ts";
import { newSyncGroupRequest } from "../../src/protocol/generated/sync_group_request.ts";
import { Writer } from "../../src/protocol/writer.ts";

export const bytes = (text: string) => new TextEncoder().encode(text);
export const text = (value: Uint8Array) => new TextDecoder().decode(value);
export const caller = (apiVersion: number): Caller => ({ apiVersion, clientId: "app", clientHost: "127.0.0.1" });

/** Lets promises that are due run, without letting time pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

export function subscription(...topics: string[]): Uint8Array {
  const writer = new Writer();
  writer.int16(0);
  writeConsumerProtocolSubscription(writer, newConsumerProtocolSubscription({ topics }), 0);
  return writer.finishBytes();
}

export class Lab {
  readonly clock: ManualClock;
  readonly log: OffsetsLog;
  coordinator: GroupCoordinator;
  private readonly settings: Partial<CoordinatorSettings>;
  private ids = 0;

  constructor(
    settings: Partial<CoordinatorSettings> = {},
    log: OffsetsLog = new MemoryOffsetsLog(),
    clock = new ManualClock(),
  ) {
    this.settings = settings;
    this.log = log;
    this.clock = clock;
    this.coordinator = this.open();
  }

  /** As after kill -9: what is in the log is all that is known. */
  restart(): void {
    this.coordinator = this.open();
  }

  private open(): GroupCoordinator {
    const { clock, log, settings } = this;
    return GroupCoordinator.open({ log, clock, logger: silentLogger, settings, randomId: () => `r${++this.ids}` });
  }

  join(from: Partial<JoinGroupRequest> = {}, apiVersion = 9) {
    const defaults = {
      groupId: "g",
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      protocolType: "consumer",
      protocols: [{ name: "range", metadata: subscription("t") }],
    };
    return this.coordinator.joinGroup(newJoinGroupRequest({ ...defaults, ...from }), caller(apiVersion));
  }

  /** A new dynamic member's two steps: get an id, then join with it. The join's answer comes when the rebalance ends. */
  async joinTwice(from: Partial<JoinGroupRequest> = {}) {
    const first = await this.join(from);
    return { memberId: first.memberId, joined: this.join({ ...from, memberId: first.memberId }) };
  }

  async sync(
    memberId: string,
    generationId: number,
    assignments: Record<string, string> = {},
    groupInstanceId: string | null = null,
  ) {
    const list = Object.entries(assignments).map(([id, value]) => ({ memberId: id, assignment: bytes(value) }));
    const answer = await this.coordinator.syncGroup(
      newSyncGroupRequest({ groupId: "g", memberId, generationId, groupInstanceId, assignments: list }),
      caller(4),
    );
    return { error: errorName(answer.errorCode), assignment: text(answer.assignment), answer };
  }

  beat(memberId: string, generationId: number, groupInstanceId: string | null = null, groupId = "g") {
    return errorName(this.coordinator.heartbeat({ groupId, memberId, generationId, groupInstanceId }).errorCode);
  }

  leave(...members: { memberId?: string; groupInstanceId?: string | null }[]) {
    const all = members.map(({ memberId = "", groupInstanceId = null }) => ({
      memberId,
      groupInstanceId,
      reason: null,
    }));
    const { errorCode, members: rows } = this.coordinator.leaveGroup("g", all);
    return { error: errorName(errorCode), rows: rows.map((row) => ({ ...row, errorCode: errorName(row.errorCode) })) };
  }

  async commit(
    offsets: Record<number, number>,
    from: {
      groupId?: string;
      memberId?: string;
      generation?: number;
      topic?: string;
      metadata?: string;
      retentionMs?: number;
      apiVersion?: number;
    } = {},
  ) {
    const partitions = Object.entries(offsets).map(([partition, offset]) =>
      newOffsetCommitRequestPartition({
        partitionIndex: Number(partition),
        committedOffset: BigInt(offset),
        committedMetadata: from.metadata ?? null,
      }),
    );
    const request = newOffsetCommitRequest({
      groupId: from.groupId ?? "g",
      memberId: from.memberId ?? "",
      generationIdOrMemberEpoch: from.generation ?? -1,
      retentionTimeMs: BigInt(from.retentionMs ?? -1),
      topics: [{ name: from.topic ?? "t", topicId: "AAAAAAAAAAAAAAAAAAAAAA", partitions }],
    });
    const answer = await this.coordinator.offsetCommit(request, from.apiVersion ?? 9);
    return answer.topics.flatMap((topic) => topic.partitions.map((partition) => errorName(partition.errorCode)));
  }

  async committed(groupId = "g"): Promise<Record<string, number>> {
    const { topics } = await this.coordinator.offsetFetch({ groupId, topics: null }, true);
    const found: Record<string, number> = {};
    for (const topic of topics)
      for (const one of topic.partitions) found[`${topic.name}-${one.partitionIndex}`] = Number(one.committedOffset);
    return found;
  }

  groups(...states: string[]): string[] {
    const { groups } = this.coordinator.listGroups({ statesFilter: states, typesFilter: [] });
    return groups.map((group) => `${group.groupId} ${group.groupState}`);
  }
}
