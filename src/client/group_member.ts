/**
 * A member of a consumer group (classic protocol, assignor "range", eager): joins, takes its share, heartbeats, commits,
 * leaves. Invariant: a partition is read only between a successful sync and the next rejoin.
 */
import { errorCodes } from "../base/kafka_error.ts";
import {
  newConsumerProtocolAssignment,
  readConsumerProtocolAssignment,
  writeConsumerProtocolAssignment,
} from "../protocol/generated/consumer_protocol_assignment.ts";
import {
  newConsumerProtocolSubscription,
  readConsumerProtocolSubscription,
  writeConsumerProtocolSubscription,
} from "../protocol/generated/consumer_protocol_subscription.ts";
import { newHeartbeatRequest } from "../protocol/generated/heartbeat_request.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import { newJoinGroupRequest, newJoinGroupRequestProtocol } from "../protocol/generated/join_group_request.ts";
import type { JoinGroupResponse } from "../protocol/generated/join_group_response.ts";
import { newLeaveGroupRequest, newMemberIdentity } from "../protocol/generated/leave_group_request.ts";
import { newSyncGroupRequest, newSyncGroupRequestAssignment } from "../protocol/generated/sync_group_request.ts";
import { Reader } from "../protocol/reader.ts";
import { Writer } from "../protocol/writer.ts";
import { check, isRetriable, type KafkaClient } from "./client.ts";
import { commitOffsets, type GroupOffset } from "./groups.ts";

export interface GroupMemberOptions {
  group: string;
  topics: string[];
  instanceId?: string;
  sessionTimeoutMs?: number;
  heartbeatMs?: number;
}

export interface AssignedPartition {
  topic: string;
  partition: number;
}

export class GroupMember {
  memberId = "";
  generation = -1;
  /** True when the group wants this member to join again. */
  mustRejoin = true;
  readonly #client: KafkaClient;
  readonly #options: Required<Omit<GroupMemberOptions, "instanceId">> & { instanceId: string | null };
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: KafkaClient, options: GroupMemberOptions) {
    this.#client = client;
    this.#options = {
      sessionTimeoutMs: 45_000,
      heartbeatMs: 3_000,
      ...options,
      instanceId: options.instanceId ?? null,
    };
  }

  /** Joins (again) and gives the partitions to read. Retries through rebalances and coordinator changes. */
  async join(): Promise<AssignedPartition[]> {
    this.#stopHeartbeat();
    for (let attempt = 0; ; attempt++) {
      const assigned = await this.#tryJoin();
      if (Array.isArray(assigned)) {
        this.mustRejoin = false;
        this.#scheduleHeartbeat();
        return assigned;
      }
      if (!isRejoinable(assigned) || attempt > 100) check(assigned, `group "${this.#options.group}"`);
      if (assigned === errorCodes.UNKNOWN_MEMBER_ID) this.memberId = "";
      if (isRetriable(assigned)) {
        await this.#client.pause(100);
        await this.#client.coordinator(this.#options.group, true);
      }
    }
  }

  async commit(offsets: readonly GroupOffset[]): Promise<void> {
    const { group, instanceId } = this.#options;
    if (offsets.length === 0) return;
    await commitOffsets(this.#client, group, offsets, {
      generation: this.generation,
      memberId: this.memberId,
      instanceId,
    });
  }

  /** Leaves at once, so that the others need not wait for the session to expire. Static members stay, as they should. */
  async leave(): Promise<void> {
    this.#stopHeartbeat();
    const { group, instanceId } = this.#options;
    if (this.memberId === "" || instanceId !== null) return;
    const members = [newMemberIdentity({ memberId: this.memberId })];
    const body = newLeaveGroupRequest({ groupId: group, members });
    const id = await this.#client.coordinator(group);
    await this.#client.requestOf(id, apiKeys.LeaveGroup, body, { minVersion: 3, maxVersion: 5, timeoutMs: 5_000 });
    this.memberId = "";
  }

  /** The assignment, or the error code. */
  async #tryJoin(): Promise<AssignedPartition[] | number> {
    const { group, topics, instanceId, sessionTimeoutMs } = this.#options;
    const coordinator = await this.#client.coordinator(group);
    const metadata = encodeSubscription(topics);
    const join = newJoinGroupRequest({
      groupId: group,
      sessionTimeoutMs,
      rebalanceTimeoutMs: 60_000,
      memberId: this.memberId,
      groupInstanceId: instanceId,
      protocolType: "consumer",
      protocols: [newJoinGroupRequestProtocol({ name: "range", metadata })],
    });
    const joined = await this.#client.requestOf(coordinator, apiKeys.JoinGroup, join, {
      minVersion: 5,
      maxVersion: 7,
      timeoutMs: 90_000,
    });
    if (joined.memberId !== "") this.memberId = joined.memberId;
    if (joined.errorCode !== 0) return joined.errorCode;
    this.generation = joined.generationId;
    const assignments = joined.leader === this.memberId ? await this.#assign(joined) : [];
    const sync = newSyncGroupRequest({
      groupId: group,
      generationId: joined.generationId,
      memberId: this.memberId,
      groupInstanceId: instanceId,
      protocolType: "consumer",
      protocolName: joined.protocolName ?? "range",
      assignments,
    });
    const synced = await this.#client.requestOf(coordinator, apiKeys.SyncGroup, sync, {
      minVersion: 3,
      maxVersion: 5,
      timeoutMs: 90_000,
    });
    return synced.errorCode === 0 ? decodeAssignment(synced.assignment) : synced.errorCode;
  }

  async #assign(joined: JoinGroupResponse) {
    const members = joined.members.map(({ memberId, groupInstanceId, metadata }) => ({
      memberId,
      sortKey: groupInstanceId ?? memberId,
      topics: decodeSubscription(metadata),
    }));
    const counts = new Map<string, number>();
    for (const topic of new Set(members.flatMap((member) => member.topics))) {
      const found = (await this.#client.metadata([topic])).topics[0];
      if (found?.errorCode === 0) counts.set(topic, found.partitions.length);
    }
    return [...rangeAssignment(members, counts)].map(([memberId, partitions]) =>
      newSyncGroupRequestAssignment({ memberId, assignment: encodeAssignment(partitions) }),
    );
  }

  #scheduleHeartbeat(): void {
    this.#timer = setTimeout(async () => {
      try {
        const id = await this.#client.coordinator(this.#options.group);
        const { group: groupId, instanceId: groupInstanceId } = this.#options;
        const body = newHeartbeatRequest({
          groupId,
          generationId: this.generation,
          memberId: this.memberId,
          groupInstanceId,
        });
        const { errorCode } = await this.#client.requestOf(id, apiKeys.Heartbeat, body, {
          minVersion: 3,
          maxVersion: 4,
        });
        if (errorCode === errorCodes.UNKNOWN_MEMBER_ID) this.memberId = "";
        if (errorCode !== 0) this.mustRejoin = true;
      } catch {
        this.mustRejoin = true;
      }
      if (!this.mustRejoin) this.#scheduleHeartbeat();
    }, this.#options.heartbeatMs);
  }

  #stopHeartbeat(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function isRejoinable(code: number): boolean {
  return (
    isRetriable(code) ||
    code === errorCodes.MEMBER_ID_REQUIRED ||
    code === errorCodes.REBALANCE_IN_PROGRESS ||
    code === errorCodes.UNKNOWN_MEMBER_ID ||
    code === errorCodes.ILLEGAL_GENERATION
  );
}

/** Kafka's RangeAssignor: per topic, members in order take consecutive partitions, the first ones one more. */
export function rangeAssignment(
  members: readonly { memberId: string; sortKey: string; topics: readonly string[] }[],
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, AssignedPartition[]> {
  const assigned = new Map<string, AssignedPartition[]>(members.map(({ memberId }) => [memberId, []]));
  for (const [topic, count] of partitionCounts) {
    const takers = members
      .filter((member) => member.topics.includes(topic))
      .sort((a, b) => (a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0));
    let next = 0;
    takers.forEach(({ memberId }, place) => {
      const share = Math.floor(count / takers.length) + (place < count % takers.length ? 1 : 0);
      for (let i = 0; i < share; i++) assigned.get(memberId)?.push({ topic, partition: next++ });
    });
  }
  return assigned;
}

function encodeSubscription(topics: string[]): Uint8Array {
  const w = new Writer();
  w.int16(0);
  writeConsumerProtocolSubscription(w, newConsumerProtocolSubscription({ topics }), 0);
  return w.finishBytes();
}

function decodeSubscription(bytes: Uint8Array): string[] {
  const r = new Reader(bytes);
  const version = Math.min(r.int16(), 3);
  return readConsumerProtocolSubscription(r, Math.max(0, version)).topics;
}

function encodeAssignment(partitions: readonly AssignedPartition[]): Uint8Array {
  const w = new Writer();
  w.int16(0);
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const assignedPartitions = topics.map((topic) => ({
    topic,
    partitions: partitions.filter((entry) => entry.topic === topic).map(({ partition }) => partition),
  }));
  writeConsumerProtocolAssignment(w, newConsumerProtocolAssignment({ assignedPartitions }), 0);
  return w.finishBytes();
}

/** The partitions in a member's assignment, as the consumer protocol writes them; none for an empty one. */
export function decodeAssignment(bytes: Uint8Array): AssignedPartition[] {
  if (bytes.length === 0) return [];
  const r = new Reader(bytes);
  const version = Math.max(0, Math.min(r.int16(), 3));
  return readConsumerProtocolAssignment(r, version).assignedPartitions.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}
