/**
 * The records of `__consumer_offsets` in Kafka's own format: a key begins with its kind as int16 (1: a committed offset,
 * 2: a group), a value with its version. Kafka's `kafka-dump-log --offsets-decoder` reads them.
 */
import { zeroUuid } from "../base/uuid.ts";
import { readGroupMetadataKey, writeGroupMetadataKey } from "../protocol/generated/group_metadata_key.ts";
import { readGroupMetadataValue, writeGroupMetadataValue } from "../protocol/generated/group_metadata_value.ts";
import { readOffsetCommitKey, writeOffsetCommitKey } from "../protocol/generated/offset_commit_key.ts";
import { readOffsetCommitValue, writeOffsetCommitValue } from "../protocol/generated/offset_commit_value.ts";
import { Reader } from "../protocol/reader.ts";
import { Writer } from "../protocol/writer.ts";
import type { CommittedOffset } from "./group_offsets.ts";
import type { GroupSnapshot } from "./group_types.ts";
import type { KeyedRecord } from "./offsets_log.ts";

const offsetKind = 1;
const groupKind = 2;
/** The versions that Apache Kafka 4.4 writes. */
const offsetValueVersion = 4;
const offsetValueVersionWithExpiry = 1;
const groupValueVersion = 3;

/** A record of the log, understood. `other`: a kind of later releases, to be left alone. */
export type GroupRecord =
  | { kind: "offset"; groupId: string; topic: string; partition: number; committed: CommittedOffset | undefined }
  | { kind: "group"; groupId: string; snapshot: GroupSnapshot | undefined }
  | { kind: "other" };

/** An undefined `committed` makes a tombstone. */
export function offsetRecord(
  groupId: string,
  topic: string,
  partition: number,
  committed: CommittedOffset | undefined,
): KeyedRecord {
  const key = new Writer(64);
  key.int16(offsetKind);
  writeOffsetCommitKey(key, { group: groupId, topic, partition }, 0);
  return { key: key.finishBytes(), value: committed ? offsetValue(committed) : null };
}

function offsetValue(committed: CommittedOffset): Uint8Array {
  const version = committed.expireTimestampMs >= 0 ? offsetValueVersionWithExpiry : offsetValueVersion;
  const value = new Writer(64);
  value.int16(version);
  writeOffsetCommitValue(
    value,
    {
      offset: committed.offset,
      leaderEpoch: committed.leaderEpoch,
      metadata: committed.metadata,
      commitTimestamp: BigInt(committed.commitTimestampMs),
      expireTimestamp: BigInt(committed.expireTimestampMs),
      topicId: committed.topicId,
    },
    version,
  );
  return value.finishBytes();
}

/** An undefined `snapshot` makes a tombstone. */
export function groupRecord(groupId: string, snapshot: GroupSnapshot | undefined): KeyedRecord {
  const key = new Writer(64);
  key.int16(groupKind);
  writeGroupMetadataKey(key, { group: groupId }, 0);
  return { key: key.finishBytes(), value: snapshot ? groupValue(snapshot) : null };
}

function groupValue(snapshot: GroupSnapshot): Uint8Array {
  const value = new Writer(512);
  value.int16(groupValueVersion);
  writeGroupMetadataValue(
    value,
    {
      protocolType: snapshot.protocolType,
      generation: snapshot.generation,
      protocol: snapshot.protocol,
      leader: snapshot.leader,
      currentStateTimestamp: BigInt(snapshot.stateTimestampMs),
      members: snapshot.members.map(({ rebalanceTimeoutMs, sessionTimeoutMs, ...member }) => ({
        ...member,
        rebalanceTimeout: rebalanceTimeoutMs,
        sessionTimeout: sessionTimeoutMs,
      })),
    },
    groupValueVersion,
  );
  return value.finishBytes();
}

/** Throws ProtocolError when the bytes are not what their kind and version promise. */
export function readGroupRecord({ key, value }: KeyedRecord): GroupRecord {
  const keyReader = new Reader(key);
  const kind = keyReader.int16();
  // Kinds 0 and 1 are the same record: 0 is Kafka's before 0.8.2.
  if (kind === offsetKind || kind === 0) {
    const { group, topic, partition } = readOffsetCommitKey(keyReader, 0);
    return { kind: "offset", groupId: group, topic, partition, committed: value ? readOffset(value) : undefined };
  }
  if (kind === groupKind) {
    const { group } = readGroupMetadataKey(keyReader, 0);
    return { kind: "group", groupId: group, snapshot: value ? readSnapshot(value) : undefined };
  }
  return { kind: "other" };
}

function readOffset(bytes: Uint8Array): CommittedOffset {
  const reader = new Reader(bytes);
  const value = readOffsetCommitValue(reader, reader.int16());
  return {
    offset: value.offset,
    leaderEpoch: value.leaderEpoch,
    metadata: value.metadata,
    commitTimestampMs: Number(value.commitTimestamp),
    expireTimestampMs: Number(value.expireTimestamp),
    topicId: value.topicId ?? zeroUuid,
  };
}

function readSnapshot(bytes: Uint8Array): GroupSnapshot {
  const reader = new Reader(bytes);
  const value = readGroupMetadataValue(reader, reader.int16());
  return {
    protocolType: value.protocolType,
    generation: value.generation,
    protocol: value.protocol,
    leader: value.leader,
    stateTimestampMs: Number(value.currentStateTimestamp),
    members: value.members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      sessionTimeoutMs: member.sessionTimeout,
      rebalanceTimeoutMs: member.rebalanceTimeout === -1 ? member.sessionTimeout : member.rebalanceTimeout,
      // Copies: a view would keep the whole piece of the log that was read.
      subscription: member.subscription.slice(),
      assignment: member.assignment.slice(),
    })),
  };
}
