/**
 * The bit fields in which Metadata and the Describe calls say what the client may do: bit n for AclOperation n
 * (KIP-430). Without authorization configured everything is allowed.
 */

/** Not asked for. */
export const unaskedOperations = -2147483648;

const bits = (...operations: number[]) => operations.reduce((field, operation) => field | (1 << operation), 0);

/** Read, write, create, delete, alter, describe, describe configs, alter configs. */
export const topicOperations = bits(3, 4, 5, 6, 7, 8, 10, 11);
/** Create, alter, describe, cluster action, describe configs, alter configs, idempotent write. */
export const clusterOperations = bits(5, 7, 8, 9, 10, 11, 12);
/** Read, delete, describe, describe configs, alter configs. */
export const groupOperations = bits(3, 6, 8, 10, 11);
