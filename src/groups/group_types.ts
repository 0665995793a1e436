/**
 * What goes into a group's state machine and what comes out: plain values, so that a test can replay any schedule.
 */
import type { KafkaErrorName } from "../base/kafka_error.ts";
import type { Protocol, Ticket } from "./membership.ts";

/** Kafka's names of the states of a classic group. */
export type GroupState = "Empty" | "PreparingRebalance" | "CompletingRebalance" | "Stable" | "Dead";

export interface JoinInput {
  memberId: string;
  /** The id the coordinator made up in case the member has none. */
  newMemberId: string;
  groupInstanceId: string | null;
  clientId: string;
  clientHost: string;
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  protocolType: string;
  protocols: readonly Protocol[];
  /** JoinGroup 4 and later: a member without an id gets one first and joins with it (KIP-394). */
  memberIdRequired: boolean;
  /** JoinGroup 9 and later: a returning static leader is told to skip the assignment (KIP-814). */
  skipAssignmentKnown: boolean;
}

export interface JoinAnswer {
  error: KafkaErrorName;
  memberId: string;
  generationId: number;
  protocolType: string | null;
  protocolName: string | null;
  leader: string;
  skipAssignment: boolean;
  members: { memberId: string; groupInstanceId: string | null; metadata: Uint8Array }[];
}

export interface SyncInput {
  memberId: string;
  groupInstanceId: string | null;
  generationId: number;
  protocolType: string | null;
  protocolName: string | null;
  assignments: readonly { memberId: string; assignment: Uint8Array }[];
}

export interface SyncAnswer {
  error: KafkaErrorName;
  protocolType: string | null;
  protocolName: string | null;
  assignment: Uint8Array;
}

export interface MemberIdentity {
  memberId: string;
  groupInstanceId: string | null;
}

/** `join` ends a rebalance's first half, `sync` its second; `member:ID` is a member's session. */
export type TimerName = "join" | "sync" | `member:${string}`;

export type GroupEvent =
  | { kind: "answerJoin"; ticket: Ticket; answer: JoinAnswer }
  | { kind: "answerSync"; ticket: Ticket; answer: SyncAnswer }
  | { kind: "startTimer"; timer: TimerName; delayMs: number }
  | { kind: "stopTimer"; timer: TimerName }
  /** Make this durable, then say so with `stored(storeId)`. */
  | { kind: "store"; storeId: number; snapshot: GroupSnapshot };

/** What of a group outlives the process (GroupMetadataValue of Kafka's `__consumer_offsets`). */
export interface GroupSnapshot {
  protocolType: string;
  generation: number;
  protocol: string | null;
  leader: string | null;
  /** Wall time of the last change of state, in milliseconds; -1 when unknown. */
  stateTimestampMs: number;
  members: {
    memberId: string;
    groupInstanceId: string | null;
    clientId: string;
    clientHost: string;
    sessionTimeoutMs: number;
    rebalanceTimeoutMs: number;
    subscription: Uint8Array;
    assignment: Uint8Array;
  }[];
}

export interface GroupOptions {
  /** How long the first member of an empty group waits for others, in milliseconds (group.initial.rebalance.delay.ms). */
  initialRebalanceDelayMs: number;
  /** How long a join without an answer keeps a member alive that does not know its id yet, in milliseconds. */
  newMemberJoinTimeoutMs: number;
  /** Members of one group, promised ids included (group.max.size). */
  membersMax: number;
}
