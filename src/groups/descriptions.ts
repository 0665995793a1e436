/** Groups as plain values for people and for the HTTP side. */
import type { GroupState } from "./group_types.ts";
import type { GroupEntry } from "./registry.ts";
import { assignedPartitionsOf } from "./subscription.ts";

export interface GroupListing {
  groupId: string;
  state: GroupState;
  /** "consumer" for consumers, "connect" for Kafka Connect, empty for a group that only stores offsets. */
  protocolType: string;
  members: number;
}

export interface GroupDescription extends Omit<GroupListing, "members"> {
  generation: number;
  /** The assignment strategy in use; empty when there is none. */
  protocol: string;
  leader: string;
  members: {
    memberId: string;
    groupInstanceId: string | null;
    clientId: string;
    clientHost: string;
    /** Assigned partitions; undefined when the bytes are not a consumer's assignment. */
    assignment: { topic: string; partitions: number[] }[] | undefined;
  }[];
  offsets: {
    topic: string;
    partition: number;
    offset: bigint;
    leaderEpoch: number;
    metadata: string;
    /** Wall time of the commit, in milliseconds. */
    commitTimestampMs: number;
  }[];
}

export function groupListing({ group }: GroupEntry): GroupListing {
  return {
    groupId: group.groupId,
    state: group.state,
    protocolType: group.protocolType ?? "",
    members: group.membership.size,
  };
}

export function groupDescription(entry: GroupEntry): GroupDescription {
  const { group, offsets } = entry;
  return {
    ...groupListing(entry),
    generation: group.generationId,
    protocol: group.protocolName ?? "",
    leader: group.membership.leaderId ?? "",
    members: [...group.membership.members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      assignment: group.isConsumerGroup && member.assignment.length > 0 ? assignedPartitionsOf(member.assignment) : [],
    })),
    offsets: offsets.durableTopics().flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, committed: { offset, leaderEpoch, metadata, commitTimestampMs } }) => ({
        topic,
        partition,
        offset,
        leaderEpoch,
        metadata,
        commitTimestampMs,
      })),
    ),
  };
}
