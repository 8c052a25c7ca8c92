// SPDX-License-Identifier: Apache-2.0
// Selects the variant of a model's code for this machine.

#include "core/context.h"

const hewn_services *hewn_model_services(const hewn_model *model) {
  int isKnown = model->struct_bytes >= sizeof(hewn_model) && model->services &&
                model->services->struct_bytes >= sizeof(hewn_services);
  return isKnown ? model->services : NULL;
}

uint64_t hewn_rt_cpu(const hewn_context *context) { return context->cpu; }

static const hewn_variant *firstThatRuns(const hewn_model *model, uint64_t cpu) {
  for (int32_t i = 0; i < model->num_variants; ++i)
    if (!(model->variants[i].cpu_features & ~cpu))
      return &model->variants[i];
  return NULL;
}

const hewn_variant *hewn_rt_variant(const hewn_model *model) {
  const hewn_services *services = hewn_model_services(model);
  return services ? firstThatRuns(model, services->platform->cpu_features()) : NULL;
}

/// Reports which CPU features this machine lacks for the model's least demanding variant (the last
/// one).
static int32_t failMachine(hewn_context *context) {
  const hewn_model *model = context->model;
  hewn_text text;
  if (model->num_variants == 0)
    return hewn_message_fail(context, HEWN_UNSUPPORTED, "the model has no code");
  if (!hewn_message_open(context, &text))
    return HEWN_UNSUPPORTED;
  hewn_text_put(&text, "model ");
  hewn_text_name(&text, model->name);
  hewn_text_put(&text, " was compiled for ");
  for (int32_t i = 0; i < model->num_variants; ++i) {
    hewn_text_put(&text, i ? ", " : "");
    hewn_text_put(&text, model->variants[i].target);
  }
  uint64_t missing = model->variants[model->num_variants - 1].cpu_features & ~context->cpu;
  hewn_text_put(&text, "; this machine lacks");
  for (unsigned i = 0; i < 64; ++i)
    if (missing >> i & 1) {
      hewn_text_put(&text, " ");
      hewn_text_put(&text, model->services->platform->cpu_feature_name(UINT64_C(1) << i));
    }
  return hewn_text_close(context, HEWN_UNSUPPORTED, &text);
}

int32_t hewn_variant_choose(hewn_context *context) {
  context->cpu = context->model->services->platform->cpu_features();
  context->variant = firstThatRuns(context->model, context->cpu);
  return context->variant ? HEWN_OK : failMachine(context);
}
