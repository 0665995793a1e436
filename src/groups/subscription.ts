/**
 * What consumers put into a group's opaque bytes: the topics they subscribe to, and the partitions they were assigned
 * (Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, each behind an int16 version). Later versions only
 * append fields, so that version 0 reads the beginning of all of them.
 */
import { readConsumerProtocolAssignment } from "../protocol/generated/consumer_protocol_assignment.ts";
import { readConsumerProtocolSubscription } from "../protocol/generated/consumer_protocol_subscription.ts";
import { Reader } from "../protocol/reader.ts";

/** The subscribed topics, or undefined when the bytes are no subscription. Never throws. */
export function subscribedTopicsOf(bytes: Uint8Array): string[] | undefined {
  try {
    const reader = new Reader(bytes);
    return reader.int16() < 0 ? undefined : readConsumerProtocolSubscription(reader, 0).topics;
  } catch {
    return undefined;
  }
}

/** The assigned partitions by topic, or undefined when the bytes are no assignment. Never throws. */
export function assignedPartitionsOf(bytes: Uint8Array): { topic: string; partitions: number[] }[] | undefined {
  try {
    const reader = new Reader(bytes);
    return reader.int16() < 0 ? undefined : readConsumerProtocolAssignment(reader, 0).assignedPartitions;
  } catch {
    return undefined;
  }
}
