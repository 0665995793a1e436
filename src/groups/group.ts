/**
 * One classic consumer group as a state machine: requests, timers and finished writes go in, events come out (`takeEvents`).
 * It follows the rules of Apache Kafka 4.4's group coordinator. It never waits, reads no clock but the wall time it is given,
 * and makes up no ids.
 * Invariant: a member is only forgotten by leaving, by a timeout, or by being replaced.
 */
import type { KafkaErrorName } from "../base/kafka_error.ts";
import { GroupCore, refusedJoin } from "./group_core.ts";
import type {
  GroupEvent,
  GroupOptions,
  GroupSnapshot,
  JoinInput,
  MemberIdentity,
  SyncInput,
  TimerName,
} from "./group_types.ts";
import { type Member, noBytes, type Protocol, sameProtocols, type Ticket } from "./membership.ts";

export class Group extends GroupCore {
  /** A group read back at start. */
  static restore(groupId: string, snapshot: GroupSnapshot, options: GroupOptions, wallMs: () => number): Group {
    const group = new Group(groupId, options, wallMs);
    group.load(snapshot);
    return group;
  }

  /** What happened since the last call, in order. */
  takeEvents(): GroupEvent[] {
    return this.outbox.take();
  }

  // ---- Joining

  join(input: JoinInput, ticket: Ticket): void {
    const { membership } = this;
    const { memberId } = input;
    const refuse = (error: KafkaErrorName, id = memberId) => this.outbox.answerJoin(ticket, refusedJoin(error, id));
    if (!this.accepts(memberId)) {
      membership.remove(memberId);
      this.outbox.stopTimer(`member:${memberId}`);
      refuse("GROUP_MAX_SIZE_REACHED", "");
    } else if (this.state === "Dead") refuse("COORDINATOR_NOT_AVAILABLE");
    else if (!this.supports(input)) refuse("INCONSISTENT_GROUP_PROTOCOL");
    else if (memberId === "") this.joinNew(input, ticket);
    else if (membership.pendingJoin.has(memberId)) {
      // Only members without an instance id are promised an id.
      if (input.groupInstanceId !== null) refuse("UNKNOWN_SERVER_ERROR", "");
      else this.addMember(input, memberId, ticket);
    } else this.joinKnown(input, ticket);
  }

  private joinNew(input: JoinInput, ticket: Ticket): void {
    const { membership } = this;
    const { groupInstanceId, newMemberId } = input;
    const oldId = groupInstanceId === null ? undefined : membership.staticMemberId(groupInstanceId);
    if (oldId !== undefined) this.returnStatic(membership.members.get(oldId)!, input, ticket);
    else if (groupInstanceId !== null || !input.memberIdRequired) this.addMember(input, newMemberId, ticket);
    else {
      membership.pendingJoin.add(newMemberId);
      this.outbox.startTimer(`member:${newMemberId}`, input.sessionTimeoutMs);
      this.outbox.answerJoin(ticket, refusedJoin("MEMBER_ID_REQUIRED", newMemberId));
    }
  }

  private addMember(input: JoinInput, memberId: string, ticket: Ticket): void {
    if (this.state === "PreparingRebalance" && this.previousState === "Empty") this.newMemberAdded = true;
    this.membership.add({
      memberId,
      groupInstanceId: input.groupInstanceId,
      clientId: input.clientId,
      clientHost: input.clientHost,
      sessionTimeoutMs: input.sessionTimeoutMs,
      rebalanceTimeoutMs: input.rebalanceTimeoutMs,
      protocols: keep(input.protocols),
      assignment: noBytes,
      isNew: true,
      joinTicket: ticket,
      syncTicket: undefined,
    });
    this.membership.protocolType = input.protocolType;
    this.outbox.startTimer(`member:${memberId}`, this.options.newMemberJoinTimeoutMs);
    this.rebalanceOrCompleteJoin();
  }

  private joinKnown(input: JoinInput, ticket: Ticket): void {
    const error = this.identityError(input.memberId, input.groupInstanceId);
    const refused = error ?? (this.state === "Empty" ? "UNKNOWN_MEMBER_ID" : undefined);
    if (refused) {
      this.outbox.answerJoin(ticket, refusedJoin(refused, input.memberId));
      return;
    }
    const member = this.membership.members.get(input.memberId)!;
    const same = sameProtocols(member.protocols, input.protocols);
    const leads = this.membership.leaderId === member.memberId;
    // A lost answer makes a member ask again. But a stable group's leader that joins again wants a rebalance, for example
    // because a topic got more partitions.
    const completing = this.state === "CompletingRebalance";
    if (same && (completing || (this.state === "Stable" && !leads))) {
      this.outbox.answerJoin(ticket, this.joinedAnswer(member, leads));
    } else {
      this.update(member, input, ticket);
      this.rebalanceOrCompleteJoin();
    }
  }

  private update(member: Member, input: JoinInput, ticket: Ticket): void {
    this.membership.setProtocols(member, keep(input.protocols));
    member.rebalanceTimeoutMs = input.rebalanceTimeoutMs;
    member.sessionTimeoutMs = input.sessionTimeoutMs;
    // A member waits once: what it asked earlier, on a connection it has given up, is answered now.
    this.endJoin(member, refusedJoin("REBALANCE_IN_PROGRESS", member.memberId));
    member.joinTicket = ticket;
  }

  /** A static member came back without its id: it takes the place of its former self, which is fenced (KIP-345). */
  private returnStatic(old: Member, input: JoinInput, ticket: Ticket): void {
    const { membership } = this;
    const formerLeader = membership.leaderId ?? "";
    this.endJoin(old, refusedJoin("FENCED_INSTANCE_ID", old.memberId));
    this.endSync(old, "FENCED_INSTANCE_ID");
    this.outbox.stopTimer(`member:${old.memberId}`);
    const former = { ...old };
    const member = membership.replaceStatic(old, input.newMemberId);
    this.update(member, input, ticket);
    this.startSession(member);
    if (this.state === "CompletingRebalance") this.prepareRebalance();
    else if (this.state === "PreparingRebalance") this.completeJoinIfAll();
    else if (membership.selectProtocol() !== this.protocolName) this.rebalanceOrCompleteJoin();
    else {
      // Nothing changes for the others: keep the generation, remember the new id, answer once that is durable.
      this.outbox.store(this.snapshot(), {
        stored: () => this.answerReturned(member, input.skipAssignmentKnown, formerLeader),
        failed: (error) => this.undoReturn(member, former, formerLeader, error),
      });
    }
  }

  private answerReturned(member: Member, skipAssignmentKnown: boolean, formerLeader: string): void {
    const leads = this.membership.leaderId === member.memberId;
    // Its session may have run out while it waited for the write: without a new one nobody would ever miss it.
    if (member.joinTicket !== undefined) this.startSession(member);
    if (skipAssignmentKnown) {
      this.endJoin(member, { ...this.joinedAnswer(member, leads), skipAssignment: leads });
    } else {
      // An older client that saw itself as leader would assign in vain: a stable group ignores it. So name its former id.
      this.endJoin(member, { ...this.joinedAnswer(member, false), leader: formerLeader });
    }
  }

  private undoReturn(member: Member, former: Member, formerLeader: string, error: KafkaErrorName): void {
    const { membership } = this;
    if (membership.members.get(member.memberId) !== member || this.state !== "Stable") return;
    this.endJoin(member, { ...this.joinedAnswer(member, false), error, memberId: "", leader: formerLeader });
    membership.setProtocols(member, former.protocols);
    member.rebalanceTimeoutMs = former.rebalanceTimeoutMs;
    member.sessionTimeoutMs = former.sessionTimeoutMs;
    this.outbox.stopTimer(`member:${member.memberId}`);
    this.startSession(membership.replaceStatic(member, former.memberId));
  }

  private accepts(memberId: string): boolean {
    const { membership } = this;
    const max = this.options.membersMax;
    if (this.state === "Empty" || this.state === "Dead") return memberId !== "" || membership.pendingJoin.size < max;
    const member = membership.members.get(memberId);
    if (member && (this.state !== "PreparingRebalance" || member.joinTicket !== undefined)) return true;
    // While a rebalance is prepared, those who joined again count: whoever comes last into a full group is out.
    const taken = this.state === "PreparingRebalance" ? membership.waiting : membership.size;
    const promised = memberId === "" ? membership.pendingJoin.size : 0;
    return taken + promised < max;
  }

  private supports(input: JoinInput): boolean {
    if (this.state === "Empty") return input.protocolType !== "" && input.protocols.length > 0;
    return this.protocolType === input.protocolType && this.membership.supportsOneOf(input.protocols);
  }

  // ---- Syncing

  sync(input: SyncInput, ticket: Ticket): void {
    const { membership } = this;
    const error = this.syncError(input);
    if (error) {
      this.answerSync(ticket, error);
      return;
    }
    const member = membership.members.get(input.memberId)!;
    membership.pendingSync.delete(input.memberId);
    if (membership.pendingSync.size === 0) this.outbox.stopTimer("sync");
    if (this.state === "Stable") {
      this.answerSync(ticket, "NONE", member.assignment);
      return;
    }
    this.endSync(member, "REBALANCE_IN_PROGRESS");
    member.syncTicket = ticket;
    if (membership.leaderId === input.memberId && !this.storing) this.storeAssignment(input.assignments);
  }

  private syncError(input: SyncInput): KafkaErrorName | undefined {
    if (this.state === "Dead") return "COORDINATOR_NOT_AVAILABLE";
    const error = this.identityError(input.memberId, input.groupInstanceId);
    if (error) return error;
    if (input.generationId !== this.generationId) return "ILLEGAL_GENERATION";
    if (differs(input.protocolType, this.protocolType) || differs(input.protocolName, this.protocolName)) {
      return "INCONSISTENT_GROUP_PROTOCOL";
    }
    return this.state === "PreparingRebalance" ? "REBALANCE_IN_PROGRESS" : undefined;
  }

  // ---- Staying, committing, leaving

  heartbeat(memberId: string, groupInstanceId: string | null, generationId: number): KafkaErrorName {
    if (this.state === "Dead") return "COORDINATOR_NOT_AVAILABLE";
    const error = this.identityError(memberId, groupInstanceId);
    if (error) return error;
    if (generationId !== this.generationId) return "ILLEGAL_GENERATION";
    this.startSession(this.membership.members.get(memberId)!);
    return this.state === "PreparingRebalance" ? "REBALANCE_IN_PROGRESS" : "NONE";
  }

  /** Whether a commit in this name is allowed; a commit keeps the session alive like a heartbeat. */
  commit(memberId: string, groupInstanceId: string | null, generationId: number): KafkaErrorName {
    if (this.state === "Dead") return "COORDINATOR_NOT_AVAILABLE";
    // Admin tools and consumers without group membership commit with generation -1, into an empty group only.
    if (generationId < 0 && this.state === "Empty") return "NONE";
    if (generationId < 0 && memberId === "" && groupInstanceId === null) return "UNKNOWN_MEMBER_ID";
    const error = this.identityError(memberId, groupInstanceId);
    if (error) return error;
    if (generationId !== this.generationId) return "ILLEGAL_GENERATION";
    if (this.state === "CompletingRebalance") return "REBALANCE_IN_PROGRESS";
    this.startSession(this.membership.members.get(memberId)!);
    return "NONE";
  }

  /** Members named by id, by instance id alone (an administrator's removal), or promised ids; one error each, one rebalance. */
  leave(members: readonly MemberIdentity[]): KafkaErrorName[] {
    const errors = members.map((identity) => this.leaveOne(identity));
    if (errors.includes("NONE") && this.state !== "Empty" && this.state !== "Dead") this.rebalanceOrCompleteJoin();
    return errors;
  }

  private leaveOne({ memberId, groupInstanceId }: MemberIdentity): KafkaErrorName {
    const { membership } = this;
    let leaving: string | undefined = memberId;
    if (memberId === "") {
      leaving = groupInstanceId === null ? undefined : membership.staticMemberId(groupInstanceId);
      if (leaving === undefined) return "UNKNOWN_MEMBER_ID";
    } else if (membership.pendingJoin.has(memberId)) {
      membership.remove(memberId);
      this.outbox.stopTimer(`member:${memberId}`);
      return "NONE";
    } else {
      const error = this.identityError(memberId, groupInstanceId);
      if (error) return error;
    }
    this.forget(membership.members.get(leaving)!);
    return "NONE";
  }

  /** The group is deleted or the node stops: everyone who waits is answered. */
  close(error: KafkaErrorName): void {
    for (const memberId of this.membership.pendingJoin) this.outbox.stopTimer(`member:${memberId}`);
    for (const member of this.membership.members.values()) {
      this.outbox.stopTimer(`member:${member.memberId}`);
      this.endJoin(member, refusedJoin(error, member.memberId));
      this.endSync(member, error);
    }
    this.outbox.stopTimer("join");
    this.outbox.stopTimer("sync");
    this.moveTo("Dead");
  }

  // ---- Timers and writes that came back

  timerFired(timer: TimerName): void {
    if (this.state === "Dead") return;
    if (timer === "join") {
      if (this.state === "PreparingRebalance") this.joinTimeUp();
    } else if (timer === "sync") this.syncTimeUp();
    else this.sessionOver(timer.slice("member:".length));
  }

  private syncTimeUp(): void {
    if (this.state !== "CompletingRebalance" && this.state !== "Stable") return;
    const late = [...this.membership.pendingSync];
    if (late.length === 0) return;
    for (const memberId of late) {
      const member = this.membership.members.get(memberId);
      if (member) this.forget(member);
    }
    this.prepareRebalance();
  }

  private sessionOver(memberId: string): void {
    const { membership } = this;
    const member = membership.members.get(memberId);
    if (membership.pendingJoin.has(memberId)) membership.remove(memberId);
    // Whoever waits for an answer from us need not have sent heartbeats meanwhile.
    else if (member && (member.isNew || (member.joinTicket === undefined && member.syncTicket === undefined))) {
      this.forget(member);
      if (this.state === "Stable" || this.state === "CompletingRebalance") this.prepareRebalance();
    } else return;
    if (this.state === "PreparingRebalance" && membership.allJoined) this.completeJoin();
  }

  /** The write asked for by the `store` event is durable, or failed with `error`. */
  stored(storeId: number, error?: KafkaErrorName): void {
    const pending = this.outbox.settle(storeId);
    if (!pending || this.state === "Dead") return;
    if (error) pending.failed(error);
    else pending.stored();
  }

  private identityError(memberId: string, groupInstanceId: string | null): KafkaErrorName | undefined {
    if (groupInstanceId !== null) {
      const known = this.membership.staticMemberId(groupInstanceId);
      if (known === undefined) return "UNKNOWN_MEMBER_ID";
      if (known !== memberId) return "FENCED_INSTANCE_ID";
    }
    return this.membership.members.has(memberId) ? undefined : "UNKNOWN_MEMBER_ID";
  }
}

/** Metadata arrives as a view into a request frame; a copy lets the frame go. */
function keep(protocols: readonly Protocol[]): Protocol[] {
  return protocols.map((protocol) => ({ name: protocol.name, metadata: protocol.metadata.slice() }));
}

function differs(asked: string | null, own: string | undefined): boolean {
  return asked !== null && own !== undefined && asked !== own;
}
