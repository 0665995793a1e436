/**
 * The coordinator's half that commits, reads and deletes offsets.
 * Invariant: a commit is answered after it is durable, and reads show durable commits only.
 */
import { errorCodes, KafkaError, type KafkaErrorName } from "../base/kafka_error.ts";
import { type Uuid, zeroUuid } from "../base/uuid.ts";
import type { OffsetCommitRequest } from "../protocol/generated/offset_commit_request.ts";
import type { OffsetCommitResponse } from "../protocol/generated/offset_commit_response.ts";
import type { OffsetDeleteRequest } from "../protocol/generated/offset_delete_request.ts";
import type { OffsetDeleteResponse } from "../protocol/generated/offset_delete_response.ts";
import type { OffsetFetchResponseGroup } from "../protocol/generated/offset_fetch_response.ts";
import { clientError, type GroupEntry, type OffsetWrite, type Registry } from "./registry.ts";

/** OffsetCommit from this version on knows GROUP_ID_NOT_FOUND. */
const groupNotFoundFrom = 9;

export interface OffsetFetch {
  groupId: string;
  /** Null: all that the group committed. */
  topics: readonly { name: string; topicId: Uuid; partitionIndexes: readonly number[] }[] | null;
}

export class OffsetRequests {
  protected readonly registry: Registry;
  protected closed = false;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  /** Makes the topic of offsets unless it is there, as Kafka does for whoever asks for a coordinator. Rejects as a write does. */
  async prepare(): Promise<void> {
    if (!this.closed) await this.registry.parts.log.append(0, []);
  }

  /** Commits offsets; topics must be named (and exist: the handler refuses others). */
  async offsetCommit(request: OffsetCommitRequest, apiVersion: number): Promise<OffsetCommitResponse> {
    const { groupId } = request;
    let error: KafkaErrorName = this.serves(groupId) ? "NONE" : "COORDINATOR_NOT_AVAILABLE";
    let entry = this.registry.get(groupId);
    if (error === "NONE" && !entry) {
      // Generation -1: an admin tool or a consumer without membership. Its group exists by its offsets alone.
      if (request.generationIdOrMemberEpoch < 0) {
        try {
          entry = this.registry.getOrCreate(groupId);
        } catch (thrown) {
          error = clientError(thrown);
        }
      } else error = apiVersion >= groupNotFoundFrom ? "GROUP_ID_NOT_FOUND" : "ILLEGAL_GENERATION";
    }
    if (error !== "NONE" || !entry) return commitAnswer(request, () => error);
    error = entry.group.commit(request.memberId, request.groupInstanceId, request.generationIdOrMemberEpoch);
    this.registry.run(entry);
    if (error !== "NONE") return commitAnswer(request, () => error);
    return this.writeCommit(entry, request);
  }

  private async writeCommit(entry: GroupEntry, request: OffsetCommitRequest): Promise<OffsetCommitResponse> {
    const { clock, logger } = this.registry.parts;
    const nowMs = clock.nowMs();
    const tooLarge = (metadata: string | null) =>
      metadata !== null && metadata.length > this.registry.settings.offsetMetadataBytesMax;
    const expireTimestampMs = request.retentionTimeMs === -1n ? -1 : nowMs + Number(request.retentionTimeMs);
    const writes: OffsetWrite[] = [];
    for (const topic of request.topics) {
      for (const partition of topic.partitions) {
        if (tooLarge(partition.committedMetadata)) continue;
        writes.push({
          topic: topic.name,
          partition: partition.partitionIndex,
          committed: {
            offset: partition.committedOffset,
            leaderEpoch: partition.committedLeaderEpoch,
            metadata: partition.committedMetadata ?? "",
            commitTimestampMs: nowMs,
            expireTimestampMs,
            topicId: topic.topicId,
          },
        });
      }
    }
    let error: KafkaErrorName = "NONE";
    if (writes.length > 0) {
      try {
        await this.registry.writeOffsets(entry, writes);
      } catch (thrown) {
        logger.error("could not store committed offsets", { group: request.groupId, error: String(thrown) });
        error = clientError(thrown);
      }
    }
    return commitAnswer(request, (metadata) =>
      error === "NONE" && tooLarge(metadata) ? "OFFSET_METADATA_TOO_LARGE" : error,
    );
  }

  /** One group's committed offsets; -1 where there is none. `requireStable` waits for commits under way. */
  async offsetFetch(request: OffsetFetch, requireStable: boolean): Promise<OffsetFetchResponseGroup> {
    const { groupId } = request;
    if (!this.serves(groupId)) return { groupId, errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE, topics: [] };
    if (requireStable) await this.registry.writesDone(groupId);
    const offsets = this.registry.get(groupId)?.offsets;
    if (request.topics === null) {
      const topics = (offsets?.durableTopics() ?? []).map(({ topic, partitions }) => ({
        name: topic,
        topicId: partitions[0]?.committed.topicId ?? zeroUuid,
        partitions: partitions.map(({ partition, committed }) => ({
          partitionIndex: partition,
          committedOffset: committed.offset,
          committedLeaderEpoch: committed.leaderEpoch,
          metadata: committed.metadata,
          errorCode: 0,
        })),
      }));
      return { groupId, errorCode: 0, topics };
    }
    const topics = request.topics.map(({ name, topicId, partitionIndexes }) => ({
      name,
      topicId,
      partitions: partitionIndexes.map((partitionIndex) => {
        const committed = offsets?.get(name, partitionIndex);
        return {
          partitionIndex,
          committedOffset: committed?.offset ?? -1n,
          committedLeaderEpoch: committed?.leaderEpoch ?? -1,
          metadata: committed?.metadata ?? "",
          errorCode: 0,
        };
      }),
    }));
    return { groupId, errorCode: 0, topics };
  }

  /** Deletes offsets of topics that no member subscribes to. */
  async offsetDelete(request: OffsetDeleteRequest): Promise<OffsetDeleteResponse> {
    const refuse = (error: KafkaErrorName) => ({ errorCode: errorCodes[error], throttleTimeMs: 0, topics: [] });
    const refused = this.refusal(request.groupId);
    if (refused) return refuse(refused);
    const entry = this.registry.get(request.groupId);
    if (!entry) return refuse("GROUP_ID_NOT_FOUND");
    const { group, offsets } = entry;
    if (group.state !== "Empty" && !group.isConsumerGroup) return refuse("NON_EMPTY_GROUP");
    const deletions: OffsetWrite[] = [];
    const topics = request.topics.map(({ name, partitions }) => {
      const inUse = group.isSubscribedTo(name);
      for (const { partitionIndex } of inUse ? [] : partitions) {
        if (offsets.written(name, partitionIndex))
          deletions.push({ topic: name, partition: partitionIndex, committed: undefined });
      }
      const errorCode = inUse ? errorCodes.GROUP_SUBSCRIBED_TO_TOPIC : 0;
      return { name, partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })) };
    });
    try {
      if (deletions.length > 0) await this.registry.writeOffsets(entry, deletions);
    } catch (thrown) {
      return refuse(clientError(thrown));
    }
    return { errorCode: 0, throttleTimeMs: 0, topics };
  }

  /**
   * Sets offsets of a group without members, and makes the group if need be, as `kafka-consumer-groups --reset-offsets`
   * does. Throws NON_EMPTY_GROUP, or what storing throws.
   */
  async resetOffsets(
    groupId: string,
    offsets: readonly { topic: string; partition: number; offset: bigint; topicId?: Uuid }[],
  ): Promise<void> {
    this.mustServe(groupId);
    const entry = this.registry.getOrCreate(groupId);
    if (entry.group.state !== "Empty")
      throw new KafkaError("NON_EMPTY_GROUP", `Group ${groupId} has members: stop its consumers first.`);
    const commitTimestampMs = this.registry.parts.clock.nowMs();
    const writes = offsets.map(({ topic, partition, offset, topicId = zeroUuid }) => ({
      topic,
      partition,
      committed: { offset, leaderEpoch: -1, metadata: "", commitTimestampMs, expireTimestampMs: -1, topicId },
    }));
    await this.registry.writeOffsets(entry, writes);
  }

  /** Why a group request is refused before looking at the group. */
  protected refusal(groupId: string): KafkaErrorName | undefined {
    if (groupId === "" && !this.closed) return "INVALID_GROUP_ID";
    return this.serves(groupId) ? undefined : "COORDINATOR_NOT_AVAILABLE";
  }

  /** False while the node stops, or when the group's part of the log cannot be read. */
  protected serves(groupId: string): boolean {
    return !this.closed && this.registry.isLoaded(groupId);
  }

  protected mustServe(groupId: string): void {
    if (this.closed) throw new KafkaError("COORDINATOR_NOT_AVAILABLE", "The node is stopping.");
    if (!this.serves(groupId))
      throw new KafkaError("COORDINATOR_NOT_AVAILABLE", `Group ${groupId} cannot be read; the node's log says why.`);
  }
}

function commitAnswer(
  request: OffsetCommitRequest,
  errorOf: (metadata: string | null) => KafkaErrorName,
): OffsetCommitResponse {
  const topics = request.topics.map(({ name, topicId, partitions }) => ({
    name,
    topicId,
    partitions: partitions.map(({ partitionIndex, committedMetadata }) => ({
      partitionIndex,
      errorCode: errorCodes[errorOf(committedMetadata)],
    })),
  }));
  return { throttleTimeMs: 0, topics };
}
