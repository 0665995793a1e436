/**
 * InitProducerId (22), versions 0 to 5: a new producer id for an idempotent producer.
 *
 * Not served: transactional ids (TRANSACTIONAL_ID_AUTHORIZATION_FAILED).
 */
import { errorCodeOf, errorCodes } from "../../base/kafka_error.ts";
import type { InitProducerIdRequest } from "../../protocol/generated/init_producer_id_request.ts";
import type { InitProducerIdResponse } from "../../protocol/generated/init_producer_id_response.ts";
import { handler } from "../handler.ts";

export const initProducerId = handler<InitProducerIdRequest, InitProducerIdResponse>(22, async (request, context) => {
  const { transactionalId, producerId, producerEpoch } = request;
  const halfKnown = (producerId === -1n) !== (producerEpoch === -1);
  if (transactionalId === "" || halfKnown) return answer(errorCodes.INVALID_REQUEST, -1n, -1);
  if (transactionalId !== null) return answer(errorCodes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1n, -1);
  try {
    // Kafka too ignores the id and epoch that a producer without a transactional id sends and gives a new id.
    return answer(0, await context.services.producerIds.allocate(), 0);
  } catch (error) {
    return answer(errorCodeOf(error), -1n, -1);
  }
});

function answer(errorCode: number, producerId: bigint, producerEpoch: number): InitProducerIdResponse {
  return {
    throttleTimeMs: 0,
    errorCode,
    producerId,
    producerEpoch,
    ongoingTxnProducerId: -1n,
    ongoingTxnProducerEpoch: -1,
  };
}
