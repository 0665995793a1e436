/** Consumer groups from outside: list, describe, committed offsets, delete. */

import { newDeleteGroupsRequest } from "../protocol/generated/delete_groups_request.ts";
import { newDescribeGroupsRequest } from "../protocol/generated/describe_groups_request.ts";
import type { DescribedGroup } from "../protocol/generated/describe_groups_response.ts";
import { apiKeys } from "../protocol/generated/index.ts";
import { newListGroupsRequest } from "../protocol/generated/list_groups_request.ts";
import {
  newOffsetCommitRequest,
  newOffsetCommitRequestPartition,
  newOffsetCommitRequestTopic,
} from "../protocol/generated/offset_commit_request.ts";
import { newOffsetFetchRequest } from "../protocol/generated/offset_fetch_request.ts";
import { check, type KafkaClient } from "./client.ts";

export interface GroupOffset {
  topic: string;
  partition: number;
  offset: number;
  metadata?: string | null;
}

/** Groups of every broker, by name. */
export async function listGroups(
  client: KafkaClient,
): Promise<{ group: string; state: string; protocolType: string; broker: number }[]> {
  const { brokers } = await client.metadata([]);
  const groups = [];
  for (const { nodeId } of brokers) {
    const answer = await client.requestOf(nodeId, apiKeys.ListGroups, newListGroupsRequest(), { maxVersion: 4 });
    check(answer.errorCode, `groups of broker ${nodeId}`);
    for (const { groupId, groupState, protocolType } of answer.groups)
      groups.push({ group: groupId, state: groupState, protocolType, broker: nodeId });
  }
  return groups.sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** State "Dead" for a group that is unknown. */
export async function describeGroup(client: KafkaClient, group: string): Promise<DescribedGroup> {
  const coordinator = await client.coordinator(group);
  const body = newDescribeGroupsRequest({ groups: [group] });
  const answer = await client.requestOf(coordinator, apiKeys.DescribeGroups, body, { maxVersion: 5 });
  const found = answer.groups[0];
  if (!found) throw new Error(`the coordinator did not describe group "${group}"`);
  check(found.errorCode, `group "${group}"`, found.errorMessage);
  return found;
}

/** Everything that the group has committed, or what it has for the partitions named (none: left out). */
export async function fetchOffsets(client: KafkaClient, group: string): Promise<GroupOffset[]> {
  const coordinator = await client.coordinator(group);
  const body = newOffsetFetchRequest({ groupId: group, topics: null });
  const answer = await client.requestOf(coordinator, apiKeys.OffsetFetch, body, { minVersion: 2, maxVersion: 7 });
  check(answer.errorCode, `offsets of group "${group}"`);
  const offsets: GroupOffset[] = [];
  for (const topic of answer.topics)
    for (const { partitionIndex, committedOffset, metadata, errorCode } of topic.partitions) {
      check(errorCode, `offsets of group "${group}", topic "${topic.name}"`);
      if (committedOffset >= 0n)
        offsets.push({ topic: topic.name, partition: partitionIndex, offset: Number(committedOffset), metadata });
    }
  return offsets;
}

export interface CommitIdentity {
  generation: number;
  memberId: string;
  instanceId: string | null;
}

/** Without `identity` the commit is an administrator's: the group must have no members. Throws KafkaError. */
export async function commitOffsets(
  client: KafkaClient,
  group: string,
  offsets: readonly GroupOffset[],
  identity: CommitIdentity = { generation: -1, memberId: "", instanceId: null },
): Promise<void> {
  const topics = [...new Set(offsets.map(({ topic }) => topic))].map((name) =>
    newOffsetCommitRequestTopic({
      name,
      partitions: offsets
        .filter(({ topic }) => topic === name)
        .map(({ partition, offset, metadata }) =>
          newOffsetCommitRequestPartition({
            partitionIndex: partition,
            committedOffset: BigInt(offset),
            committedMetadata: metadata ?? "",
          }),
        ),
    }),
  );
  const body = newOffsetCommitRequest({
    groupId: group,
    generationIdOrMemberEpoch: identity.generation,
    memberId: identity.memberId,
    groupInstanceId: identity.instanceId,
    topics,
  });
  const coordinator = await client.coordinator(group);
  const answer = await client.requestOf(coordinator, apiKeys.OffsetCommit, body, { minVersion: 2, maxVersion: 9 });
  for (const topic of answer.topics)
    for (const { partitionIndex, errorCode } of topic.partitions)
      check(errorCode, `commit for group "${group}", topic "${topic.name}" partition ${partitionIndex}`);
}

export async function deleteGroup(client: KafkaClient, group: string): Promise<void> {
  const coordinator = await client.coordinator(group);
  const body = newDeleteGroupsRequest({ groupsNames: [group] });
  const answer = await client.requestOf(coordinator, apiKeys.DeleteGroups, body, { maxVersion: 2 });
  for (const { errorCode } of answer.results) check(errorCode, `group "${group}"`);
}
