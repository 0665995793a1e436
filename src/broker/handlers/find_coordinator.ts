/**
 * FindCoordinator (10), versions 0 to 6: this node coordinates every group. Key type 0 is a group; transactions (1) and
 * share groups (2) are not served. The first who asks for a group's coordinator makes the topic of offsets, as in Kafka:
 * clients then find it in Metadata.
 */
import { errorCodes, KafkaError } from "../../base/kafka_error.ts";
import type { FindCoordinatorRequest } from "../../protocol/generated/find_coordinator_request.ts";
import type { FindCoordinatorResponse } from "../../protocol/generated/find_coordinator_response.ts";
import { advertisedAddress } from "../address.ts";
import { handler, type RequestContext } from "../handler.ts";
import { offsetsTopicName } from "../offsets_topic.ts";

/** From this version several keys are asked for at once (KIP-699). */
const batchedFrom = 4;
const groupKey = 0;
const transactionKey = 1;

export const findCoordinator = handler<FindCoordinatorRequest, FindCoordinatorResponse>(
  10,
  async (request, context) => {
    if (request.keyType === groupKey && !context.services.catalog.topic(offsetsTopicName)) {
      // Where it cannot be made (a full disk), offsets can still be read, and a commit tells why it fails.
      await context.services.groups.prepare().catch(() => undefined);
    }
    const keys = context.apiVersion >= batchedFrom ? request.coordinatorKeys : [request.key];
    const coordinators = keys.map((key) => find(key, request.keyType, context));
    if (context.apiVersion >= batchedFrom)
      return { throttleTimeMs: 0, errorCode: 0, errorMessage: "", nodeId: 0, host: "", port: 0, coordinators };
    const { errorCode, errorMessage, nodeId, host, port } = coordinators[0]!;
    return { throttleTimeMs: 0, errorCode, errorMessage, nodeId, host, port, coordinators: [] };
  },
);

function find(key: string, keyType: number, context: RequestContext): FindCoordinatorResponse["coordinators"][number] {
  const refusal = refusalOf(keyType);
  if (refusal) {
    return { key, nodeId: -1, host: "", port: -1, errorCode: refusal.code, errorMessage: refusal.message };
  }
  const { nodeId } = context.services.config;
  return { key, nodeId, ...advertisedAddress(context), errorCode: errorCodes.NONE, errorMessage: "" };
}

/** An empty group id is answered: who uses it is told by the group's own APIs. */
function refusalOf(keyType: number): KafkaError | undefined {
  switch (keyType) {
    case groupKey:
      return undefined;
    case transactionKey:
      return new KafkaError("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions are not supported.");
    default:
      return new KafkaError("INVALID_REQUEST", `Coordinators of key type ${keyType} are not supported.`);
  }
}
