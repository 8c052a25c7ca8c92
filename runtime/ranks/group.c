// SPDX-License-Identifier: Apache-2.0
// The context of one rank: takes the communicator, compares artifacts with the other ranks before
// the first run, and reports transfers to hooks.
#include "core/context.h"
#include "core/string.h"
#include "hewn/communicator.h"

/// Data that ranks exchange to compare their artifacts.
typedef struct introduction {
  char digest[48];
  /// target of the variant of the model that this rank runs, because arena sizes and the bits of
  /// replicated results may depend on it
  char variant[32];
  int32_t num_ranks;
  int32_t rank;
} introduction;

int32_t hewn_ranks_fail(hewn_context *context, const char *node, int32_t code) {
  const hewn_communicator *group = context->communicator;
  const char *why = group->message ? group->message(group->user) : NULL;
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return code;
  if (node && *node) {
    hewn_text_put(&text, node);
    hewn_text_put(&text, ": ");
  }
  hewn_text_put(&text, "rank ");
  hewn_text_int(&text, group->rank);
  hewn_text_put(&text, ": ");
  hewn_text_put(&text, why ? why : "");
  return hewn_text_close(context, code, &text);
}

static int32_t failOther(hewn_context *context, int32_t other, const char *digest) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_PEER_FAILED;
  hewn_text_put(&text, "rank ");
  hewn_text_int(&text, other);
  hewn_text_put(&text, " runs another artifact: its digest is ");
  hewn_text_name(&text, digest);
  hewn_text_put(&text, ", that of rank ");
  hewn_text_int(&text, context->communicator->rank);
  hewn_text_put(&text, " ");
  hewn_text_name(&text, context->model->digest);
  return hewn_text_close(context, HEWN_PEER_FAILED, &text);
}

/// Compares this rank's artifact with those of the other ranks, because all ranks must run the same
/// one.
static int32_t meet(hewn_context *context) {
  const hewn_communicator *group = context->communicator;
  size_t count = (size_t)group->num_ranks;
  introduction mine;
  memset(&mine, 0, sizeof(mine));
  size_t length = hewn_strlen(context->model->digest);
  memcpy(mine.digest, context->model->digest, length < sizeof(mine.digest) ? length : sizeof(mine.digest) - 1);
  length = hewn_strlen(context->variant->target);
  memcpy(mine.variant, context->variant->target, length < sizeof(mine.variant) ? length : sizeof(mine.variant) - 1);
  mine.num_ranks = group->num_ranks;
  mine.rank = group->rank;
  introduction *all =
      context->allocator.allocate(context->allocator.user, count * sizeof(introduction), HEWN_ALIGNMENT);
  if (!all)
    return hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "out of memory");
  int32_t code = group->all_gather(group->user, 0, group->num_ranks, &mine, all, sizeof(mine));
  if (code != HEWN_OK)
    code = hewn_ranks_fail(context, NULL, code);
  for (int32_t r = 0; code == HEWN_OK && r < group->num_ranks; ++r) {
    all[r].digest[sizeof(all[r].digest) - 1] = '\0';
    if (all[r].rank != r || all[r].num_ranks != group->num_ranks)
      code = hewn_message_fail(context, HEWN_PEER_FAILED, "the communicator's ranks are out of order");
    else if (memcmp(all[r].digest, mine.digest, sizeof(mine.digest)) != 0)
      code = failOther(context, r, all[r].digest);
    else if (memcmp(all[r].variant, mine.variant, sizeof(mine.variant)) != 0)
      code =
          hewn_message_fail(context, HEWN_PEER_FAILED,
                            "ranks run different variants of the code: compile for a target that all machines support");
  }
  context->allocator.release(context->allocator.user, all);
  return code;
}

static int32_t joinRanks(hewn_context *context, hewn_communicator *group) {
  const hewn_model *model = context->model;
  if (!group)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, NULL,
                        "the model is partitioned over {a} ranks: each rank needs a context with options.communicator",
                        model->num_ranks, 0);
  // A communicator whose struct ends before the member after reduce_scatter (`device`) is too old.
  if (group->size < offsetof(hewn_communicator, device))
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT,
                             "communicator.size is wrong: set it to sizeof(hewn_communicator)");
  if (group->num_ranks != model->num_ranks)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, NULL,
                        "the model is partitioned over {a} ranks, but the communicator has {b}", model->num_ranks,
                        group->num_ranks);
  if (group->rank < 0 || group->rank >= group->num_ranks)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, NULL, "the communicator's rank is {a} of {b}", group->rank,
                        group->num_ranks);
  if (context->arena_is_callers)
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "options.arena is not supported for a partitioned model");
  if (__atomic_exchange_n(&group->taken, 1, __ATOMIC_ACQ_REL))
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "the communicator is in use by another context");
  context->communicator = group;
  int32_t code = meet(context);
  group->moved = 0;
  return code;
}

const hewn_device_transport *hewn_ranks_transport(const hewn_context *context) {
  const hewn_communicator *group = context->communicator;
  return group && group->size > offsetof(hewn_communicator, device) ? group->device : NULL;
}

const hewn_device_transport *hewn_rt_transport(const hewn_context *context, void **stream) {
  *stream = context->transport_stream;
  return context->transport;
}

int32_t hewn_ranks_agree(hewn_context *context, uint64_t *digests) {
  hewn_communicator *group = context->communicator;
  const unsigned char *symbols = (const unsigned char *)context->symbols;
  // Compares the hash of all symbols but the last one, because the last symbol is the rank.
  size_t bytes = (size_t)(context->model->num_symbols - 1) * sizeof(int64_t);
  uint64_t mine = UINT64_C(0xcbf29ce484222325), moved = group->moved;
  for (size_t i = 0; i < bytes; ++i)
    mine = (mine ^ symbols[i]) * UINT64_C(0x100000001b3); // one step of the hash FNV-1a
  int32_t code = group->all_gather(group->user, 0, group->num_ranks, &mine, digests, sizeof(mine));
  group->moved = moved; // does not count this exchange, which is no transfer of the model
  if (code != HEWN_OK)
    return hewn_ranks_fail(context, NULL, code);
  for (int32_t r = 0; r < group->num_ranks; ++r)
    if (digests[r] != mine)
      return hewn_rt_fail(context, HEWN_PEER_FAILED, NULL,
                          "ranks {a} and {b} make different calls: do their inputs have different shapes?",
                          group->rank < r ? group->rank : r, group->rank < r ? r : group->rank);
  return HEWN_OK;
}

/// Returns the time of the platform's clock in microseconds; 0 if there is no clock.
static double microseconds(const hewn_context *context) {
  const hewn_platform_table *platform = context->model->services->platform;
  return platform->nanoseconds ? (double)platform->nanoseconds() / 1e3 : 0;
}

/// Returns true if the transport may report waiting times: older tables lack the member.
static int tellsWaits(const hewn_communicator *group) { return group->size > offsetof(hewn_communicator, waited); }

void hewn_rt_transfer(hewn_context *context, const char *what, int32_t first, int32_t ranks, int64_t bytes) {
  hewn_communicator *group = context->communicator;
  if (!context->transfer_hook.transfer)
    return;
  hewn_transfer transfer = {sizeof(hewn_transfer), what, "", first, ranks, (uint64_t)bytes,
                            group->moved,          0,    0,  -1,    0,     0};
  context->transfer = transfer;
  if (tellsWaits(group))
    group->waited = -1;
  context->transfer.begin = microseconds(context);
}

int32_t hewn_rt_transferred(hewn_context *context, const char *node, int32_t code) {
  hewn_communicator *group = context->communicator;
  hewn_transfer *transfer = &context->transfer;
  if (code != HEWN_OK)
    return hewn_ranks_fail(context, node, code);
  if (!context->transfer_hook.transfer)
    return code;
  transfer->end = microseconds(context);
  transfer->node = node ? node : "";
  transfer->moved = group->moved - transfer->moved;
  // The transfer is only enqueued on the device: the hook is called with the device times after the
  // run.
  if (context->transport)
    return code;
  if (tellsWaits(group)) {
    transfer->waited = group->waited < 0 ? -1 : (double)group->waited / 1e3;
    group->waited = 0;
  }
  context->transfer_hook.transfer(context->transfer_hook.user, transfer);
  return code;
}

static int64_t arenaBytes(hewn_context *context) {
  int64_t *symbols = context->symbols, most = 0;
  int32_t last = context->model->num_symbols - 1;
  for (int32_t r = 0; r < context->communicator->num_ranks && most >= 0; ++r) {
    symbols[last] = r;
    int64_t bytes = context->variant->arena_bytes(symbols);
    most = bytes < 0 || bytes > most ? bytes : most;
  }
  symbols[last] = context->communicator->rank;
  return most;
}

static void *allocateArena(hewn_context *context, int64_t bytes) {
  const hewn_communicator *group = context->communicator;
  void *memory = bytes <= PTRDIFF_MAX ? group->allocate(group->user, (size_t)bytes) : NULL;
  if (!memory)
    hewn_ranks_fail(context, NULL, HEWN_OUT_OF_MEMORY);
  return memory;
}

const hewn_ranks_table hewn_rt_ranks = {joinRanks, arenaBytes, allocateArena};

const hewn_communicator *hewn_rt_communicator(const hewn_context *context) { return context->communicator; }
