/**
 * Who is in a group: members, static instance ids, members that were promised an id (pending join), members whose sync is
 * due (pending sync), and which assignment protocols all of them support.
 * Invariant: the leader, if any, is a member; every instance id maps to a member; each member holds at most one unanswered
 * join and one unanswered sync.
 */

/** One assignment protocol that a member offers, most preferred first in its list. */
export interface Protocol {
  name: string;
  metadata: Uint8Array;
}

/** Names one waiting request; the coordinator maps it back to the connection. */
export type Ticket = number;

export interface Member {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  protocols: readonly Protocol[];
  assignment: Uint8Array;
  /** True until its first join is answered: a member that does not know its id cannot send heartbeats. */
  isNew: boolean;
  joinTicket: Ticket | undefined;
  syncTicket: Ticket | undefined;
}

export const noBytes = new Uint8Array(0);

export class Membership {
  leaderId: string | undefined;
  protocolType: string | undefined;
  readonly members = new Map<string, Member>();
  readonly pendingJoin = new Set<string>();
  readonly pendingSync = new Set<string>();
  private readonly instances = new Map<string, string>();
  private readonly supporters = new Map<string, number>();

  get size(): number {
    return this.members.size;
  }

  /** Members whose join waits for its answer. */
  get waiting(): number {
    let count = 0;
    for (const member of this.members.values()) if (member.joinTicket !== undefined) count++;
    return count;
  }

  get allJoined(): boolean {
    if (this.pendingJoin.size > 0) return false;
    for (const member of this.members.values()) if (member.joinTicket === undefined) return false;
    return true;
  }

  /** The longest rebalance timeout of the members, in milliseconds: how long the group waits for the slowest. */
  get rebalanceTimeoutMs(): number {
    let longest = 0;
    for (const member of this.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs);
    return longest;
  }

  staticMemberId(groupInstanceId: string): string | undefined {
    return this.instances.get(groupInstanceId);
  }

  add(member: Member): void {
    if (member.groupInstanceId !== null) this.instances.set(member.groupInstanceId, member.memberId);
    this.leaderId ??= member.memberId;
    this.members.set(member.memberId, member);
    this.count(member, 1);
    this.pendingJoin.delete(member.memberId);
  }

  /** Forgets a member or a promised id; a lost leader is followed by the longest-standing member. */
  remove(memberId: string): void {
    const member = this.members.get(memberId);
    if (member) {
      this.members.delete(memberId);
      this.count(member, -1);
      if (member.groupInstanceId !== null) this.instances.delete(member.groupInstanceId);
    }
    if (this.leaderId === memberId) this.leaderId = this.members.keys().next().value;
    this.pendingJoin.delete(memberId);
    this.pendingSync.delete(memberId);
  }

  /** A restarted static member takes its place, assignment and protocols under a new id (KIP-345). */
  replaceStatic(old: Member, memberId: string): Member {
    const member: Member = { ...old, memberId, isNew: false, joinTicket: undefined, syncTicket: undefined };
    this.members.delete(old.memberId);
    this.members.set(memberId, member);
    this.pendingSync.delete(old.memberId);
    if (this.leaderId === old.memberId) this.leaderId = memberId;
    this.instances.set(member.groupInstanceId!, memberId);
    return member;
  }

  setProtocols(member: Member, protocols: readonly Protocol[]): void {
    this.count(member, -1);
    member.protocols = protocols;
    this.count(member, 1);
  }

  /** If the leader did not join again, the first member that did becomes leader. False when nobody joined. */
  electJoinedLeader(): boolean {
    const leader = this.leaderId === undefined ? undefined : this.members.get(this.leaderId);
    if (!leader) return false;
    if (leader.joinTicket !== undefined) return true;
    for (const member of this.members.values()) {
      if (member.joinTicket === undefined) continue;
      this.leaderId = member.memberId;
      return true;
    }
    return false;
  }

  /** Whether one of these protocols is supported by every member. */
  supportsOneOf(protocols: readonly Protocol[]): boolean {
    return protocols.some((protocol) => (this.supporters.get(protocol.name) ?? 0) === this.members.size);
  }

  /** Each member votes for its most preferred protocol among those that all support; most votes win, then the earlier vote. */
  selectProtocol(): string | undefined {
    const votes = new Map<string, number>();
    for (const member of this.members.values()) {
      const choice = member.protocols.find((protocol) => this.supporters.get(protocol.name) === this.members.size);
      if (choice) votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1);
    }
    let best: string | undefined;
    for (const [name, count] of votes) if (best === undefined || count > votes.get(best)!) best = name;
    return best;
  }

  private count(member: Member, change: number): void {
    for (const name of new Set(member.protocols.map((protocol) => protocol.name))) {
      const count = (this.supporters.get(name) ?? 0) + change;
      if (count > 0) this.supporters.set(name, count);
      else this.supporters.delete(name);
    }
  }
}

/** What a member says about itself under a protocol; no bytes when it does not offer it. */
export function metadataOf(member: Member, protocolName: string | undefined): Uint8Array {
  return member.protocols.find((protocol) => protocol.name === protocolName)?.metadata ?? noBytes;
}

/** Whether two offers are the same: same protocols, same order, same metadata. */
export function sameProtocols(left: readonly Protocol[], right: readonly Protocol[]): boolean {
  if (left.length !== right.length) return false;
  return left.every((protocol, index) => {
    const other = right[index]!;
    return protocol.name === other.name && sameBytes(protocol.metadata, other.metadata);
  });
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}
