/**
 * The coordinator's settings and surroundings. Names and defaults are Kafka's broker settings unless a comment says otherwise.
 */
import type { Clock } from "../base/clock.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import type { OffsetsLog } from "./offsets_log.ts";

export interface CoordinatorSettings {
  /** group.initial.rebalance.delay.ms; 0 instead of Kafka's 3000, so that a lone consumer starts at once. */
  initialRebalanceDelayMs: number;
  /** group.min.session.timeout.ms */
  sessionTimeoutMsMin: number;
  /** group.max.session.timeout.ms */
  sessionTimeoutMsMax: number;
  /** group.max.size */
  membersMax: number;
  /** Groups known at once; Kafka has no such setting. */
  groupsMax: number;
  /** offset.metadata.max.bytes */
  offsetMetadataBytesMax: number;
  /** offsets.retention.minutes, in milliseconds */
  offsetsRetentionMs: number;
  /** offsets.retention.check.interval.ms */
  offsetsRetentionCheckMs: number;
}

export const defaultSettings: CoordinatorSettings = {
  initialRebalanceDelayMs: 0,
  sessionTimeoutMsMin: 6_000,
  sessionTimeoutMsMax: 1_800_000,
  membersMax: limits.groupMembersMax,
  groupsMax: limits.groupsMax,
  offsetMetadataBytesMax: 4_096,
  offsetsRetentionMs: 7 * 24 * 60 * 60 * 1000,
  offsetsRetentionCheckMs: 600_000,
};

/** How long a member that does not know its id yet may wait for its first join; Kafka has no setting for it. */
export const newMemberJoinTimeoutMs = 5 * 60 * 1000;

export interface CoordinatorParts {
  log: OffsetsLog;
  clock: Clock;
  logger: Logger;
  settings?: Partial<CoordinatorSettings>;
  /** The random part of member ids; crypto.randomUUID unless a test needs the same ids again. */
  randomId?: () => string;
}

/** Who asks. The broker's request context fits. */
export interface Caller {
  readonly apiVersion: number;
  readonly clientId: string | null;
  readonly clientHost: string;
}
