/**
 * The group coordinator: one method per Kafka API, taking and returning values shaped like Kafka's messages, and a few plain
 * methods for the HTTP side. Classic groups only; the rebalance protocol of KIP-848 is not served.
 * Invariant: an answer that says that something is stored is given after it is durable.
 * Topics arrive by name, checked against the catalog: the handlers do that.
 */
import { errorCodes, KafkaError, type KafkaErrorName } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { DeleteGroupsResponse } from "../protocol/generated/delete_groups_response.ts";
import type { DescribedGroup } from "../protocol/generated/describe_groups_response.ts";
import type { HeartbeatRequest } from "../protocol/generated/heartbeat_request.ts";
import type { HeartbeatResponse } from "../protocol/generated/heartbeat_response.ts";
import type { JoinGroupRequest } from "../protocol/generated/join_group_request.ts";
import type { JoinGroupResponse } from "../protocol/generated/join_group_response.ts";
import type { MemberIdentity } from "../protocol/generated/leave_group_request.ts";
import type { MemberResponse } from "../protocol/generated/leave_group_response.ts";
import type { ListGroupsRequest } from "../protocol/generated/list_groups_request.ts";
import type { ListedGroup, ListGroupsResponse } from "../protocol/generated/list_groups_response.ts";
import type { SyncGroupRequest } from "../protocol/generated/sync_group_request.ts";
import type { SyncGroupResponse } from "../protocol/generated/sync_group_response.ts";
import type { Caller, CoordinatorParts } from "./coordinator_types.ts";
import { type GroupDescription, type GroupListing, groupDescription, groupListing } from "./descriptions.ts";
import { refusedJoin } from "./group_core.ts";
import type { JoinAnswer } from "./group_types.ts";
import { metadataOf, noBytes } from "./membership.ts";
import { OffsetRequests } from "./offset_requests.ts";
import { clientError, Registry } from "./registry.ts";

/** JoinGroup versions from which a new member must first get an id, and from which an assignment may be skipped. */
const memberIdRequiredFrom = 4;
const skipAssignmentFrom = 9;
const nullProtocolNameFrom = 7;
/** SyncGroup from this version on must name the protocol (KIP-559). */
const protocolNamedFrom = 5;

export class GroupCoordinator extends OffsetRequests {
  private readonly randomId: () => string;

  private constructor(registry: Registry, randomId: () => string) {
    super(registry);
    this.randomId = randomId;
  }

  /** Groups and offsets are read back from the log as they are asked for, and all of them soon. */
  static open(parts: CoordinatorParts): GroupCoordinator {
    const registry = new Registry(parts);
    registry.start();
    return new GroupCoordinator(registry, parts.randomId ?? (() => crypto.randomUUID()));
  }

  // ---- Membership

  async joinGroup(request: JoinGroupRequest, caller: Caller): Promise<JoinGroupResponse> {
    const answer = await this.join(request, caller);
    const protocolName = answer.protocolName ?? (caller.apiVersion < nullProtocolNameFrom ? "" : null);
    const { error, ...rest } = answer;
    return { throttleTimeMs: 0, errorCode: errorCodes[error], ...rest, protocolName };
  }

  private async join(request: JoinGroupRequest, caller: Caller): Promise<JoinAnswer> {
    const { groupId, memberId, sessionTimeoutMs } = request;
    const { settings, parts } = this.registry;
    const refused = this.refusal(groupId);
    if (refused) return refusedJoin(refused, memberId);
    if (sessionTimeoutMs < settings.sessionTimeoutMsMin || sessionTimeoutMs > settings.sessionTimeoutMsMax)
      return refusedJoin("INVALID_SESSION_TIMEOUT", memberId);
    if (request.protocols.reduce((sum, one) => sum + one.metadata.length, 0) > limits.groupMemberBytesMax) {
      parts.logger.warn("refused a group member: its metadata is too large", {
        group: groupId,
        client: caller.clientId,
      });
      return refusedJoin("UNKNOWN_SERVER_ERROR", "");
    }
    let entry = this.registry.get(groupId);
    const isNew = !entry;
    if (!entry) {
      if (memberId !== "") return refusedJoin("UNKNOWN_MEMBER_ID", memberId);
      try {
        entry = this.registry.getOrCreate(groupId);
      } catch (error) {
        return refusedJoin(clientError(error), memberId);
      }
    }
    const answer = this.registry.join(entry, {
      memberId,
      newMemberId: `${request.groupInstanceId ?? caller.clientId ?? ""}-${this.randomId()}`,
      groupInstanceId: request.groupInstanceId,
      clientId: caller.clientId ?? "",
      clientHost: hostText(caller.clientHost),
      sessionTimeoutMs,
      // Version 0 has no rebalance timeout: it waits as long as a session lasts.
      rebalanceTimeoutMs: caller.apiVersion === 0 ? sessionTimeoutMs : request.rebalanceTimeoutMs,
      protocolType: request.protocolType,
      protocols: request.protocols,
      memberIdRequired: caller.apiVersion >= memberIdRequiredFrom,
      skipAssignmentKnown: caller.apiVersion >= skipAssignmentFrom,
    });
    if (isNew) this.registry.storeNew(entry);
    return answer;
  }

  async syncGroup(request: SyncGroupRequest, { apiVersion }: Pick<Caller, "apiVersion">): Promise<SyncGroupResponse> {
    const unnamed = apiVersion >= protocolNamedFrom && (request.protocolType === null || request.protocolName === null);
    const refused = unnamed ? "INCONSISTENT_GROUP_PROTOCOL" : this.refusal(request.groupId);
    const entry = this.registry.get(request.groupId);
    if (refused || !entry || entry.group.state === "Empty") {
      const errorCode = errorCodes[refused ?? "UNKNOWN_MEMBER_ID"];
      return { throttleTimeMs: 0, errorCode, protocolType: null, protocolName: null, assignment: noBytes };
    }
    const { error, ...answer } = await this.registry.sync(entry, request);
    return { throttleTimeMs: 0, errorCode: errorCodes[error], ...answer };
  }

  heartbeat(request: HeartbeatRequest): HeartbeatResponse {
    const entry = this.registry.get(request.groupId);
    let error = this.refusal(request.groupId);
    if (!error) {
      error =
        entry?.group.heartbeat(request.memberId, request.groupInstanceId, request.generationId) ?? "UNKNOWN_MEMBER_ID";
      if (entry) this.registry.run(entry);
    }
    return { throttleTimeMs: 0, errorCode: errorCodes[error] };
  }

  /** One row per requested member; `errorCode` is the request's own. */
  leaveGroup(groupId: string, members: readonly MemberIdentity[]): { errorCode: number; members: MemberResponse[] } {
    const refused = this.refusal(groupId);
    if (refused) return { errorCode: errorCodes[refused], members: [] };
    const entry = this.registry.get(groupId);
    const errors = entry?.group.leave(members) ?? members.map(() => "UNKNOWN_MEMBER_ID" as const);
    if (entry) this.registry.run(entry);
    const rows = members.map(({ memberId, groupInstanceId }, index) => ({
      memberId,
      groupInstanceId,
      errorCode: errorCodes[errors[index]!],
    }));
    return { errorCode: 0, members: rows };
  }

  // ---- Administration

  /** Groups in the wanted states and of the wanted types, compared without case; an empty filter wants all. */
  listGroups(request: Pick<ListGroupsRequest, "statesFilter" | "typesFilter">): ListGroupsResponse {
    if (this.closed) return { throttleTimeMs: 0, errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE, groups: [] };
    const states = new Set(request.statesFilter.map((state) => state.trim().toLowerCase()));
    const types = request.typesFilter.map((type) => type.trim().toLowerCase());
    const groups: ListedGroup[] = [];
    if (types.length === 0 || types.includes("classic")) {
      for (const { group } of this.registry.entries()) {
        if (states.size > 0 && !states.has(group.state.toLowerCase())) continue;
        const protocolType = group.protocolType ?? "";
        groups.push({ groupId: group.groupId, protocolType, groupState: group.state, groupType: "classic" });
      }
    }
    return { throttleTimeMs: 0, errorCode: 0, groups };
  }

  /** What Kafka's DescribeGroups says of one group; an unknown one is "Dead". */
  describeGroup(groupId: string): DescribedGroup {
    const none = { errorCode: 0, errorMessage: null, authorizedOperations: -2147483648 };
    if (!this.serves(groupId)) {
      const errorCode = errorCodes.COORDINATOR_NOT_AVAILABLE;
      return { ...none, errorCode, groupId, groupState: "", protocolType: "", protocolData: "", members: [] };
    }
    const entry = this.registry.get(groupId);
    if (!entry) return { ...none, groupId, groupState: "Dead", protocolType: "", protocolData: "", members: [] };
    const { group } = entry;
    const stable = group.state === "Stable";
    return {
      ...none,
      groupId,
      groupState: group.state,
      protocolType: group.protocolType ?? "",
      protocolData: stable ? (group.protocolName ?? "") : "",
      members: [...group.membership.members.values()].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        memberMetadata: stable ? metadataOf(member, group.protocolName) : noBytes,
        memberAssignment: member.assignment,
      })),
    };
  }

  /** Each named group's outcome, after the deletions are durable. */
  async deleteGroups(groupIds: readonly string[]): Promise<DeleteGroupsResponse> {
    const results = await Promise.all(
      [...new Set(groupIds)].map(async (groupId) => {
        let error: KafkaErrorName = "NONE";
        try {
          await this.delete(groupId);
        } catch (thrown) {
          error = clientError(thrown);
        }
        return { groupId, errorCode: errorCodes[error], errorMessage: null };
      }),
    );
    return { throttleTimeMs: 0, results };
  }

  // ---- For the HTTP side

  list(): GroupListing[] {
    return [...this.registry.entries()].map(groupListing);
  }

  /** Everything known of a group, or undefined. Lag is the caller's to compute from the log ends. */
  describe(groupId: string): GroupDescription | undefined {
    const entry = this.serves(groupId) ? this.registry.get(groupId) : undefined;
    return entry && groupDescription(entry);
  }

  /** Deletes an empty group and its offsets. Throws GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NOT_COORDINATOR, KAFKA_STORAGE_ERROR. */
  async delete(groupId: string): Promise<void> {
    this.mustServe(groupId);
    const entry = this.registry.get(groupId);
    if (!entry) throw new KafkaError("GROUP_ID_NOT_FOUND", `Group ${groupId} not found.`);
    if (entry.group.state !== "Empty")
      throw new KafkaError("NON_EMPTY_GROUP", `Group ${groupId} has members: stop its consumers first.`);
    await this.registry.remove(entry);
  }

  /** Forgets every group's offsets of a topic that was deleted. */
  topicDeleted(name: string): Promise<void> {
    return this.registry.topicDeleted(name);
  }

  /** Answers everyone who waits, then waits for the writes under way. */
  async close(): Promise<void> {
    this.closed = true;
    await this.registry.close();
  }
}

/** Kafka shows a client's address as Java prints it, with a slash in front. */
function hostText(host: string): string {
  return host.startsWith("/") ? host : `/${host}`;
}
