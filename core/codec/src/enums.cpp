#include "meshwise_codec/enums.h"

namespace meshwise {

template <>
std::span<const EnumName<AttentionType>> enumNames<AttentionType>() {
  static constexpr EnumName<AttentionType> kNames[] = {
      {AttentionType::Mha, "mha"},
      {AttentionType::Gqa, "gqa"},
      {AttentionType::Mla, "mla"},
      {AttentionType::Gqa, "mqa"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Position>> enumNames<Position>() {
  static constexpr EnumName<Position> kNames[] = {
      {Position::Rope, "rope"},
      {Position::Learned, "learned"},
      {Position::Alibi, "alibi"},
      {Position::None, "none"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Norm>> enumNames<Norm>() {
  static constexpr EnumName<Norm> kNames[] = {
      {Norm::Rms, "rms"},
      {Norm::Layer, "layer"},
  };
  return kNames;
}

template <>
std::span<const EnumName<QkNorm>> enumNames<QkNorm>() {
  static constexpr EnumName<QkNorm> kNames[] = {
      {QkNorm::None, "none"},
      {QkNorm::PerHead, "perHead"},
      {QkNorm::FullWidth, "fullWidth"},
      {QkNorm::PerHeadDistinct, "perHeadDistinct"},
      {QkNorm::L2, "l2"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Topology>> enumNames<Topology>() {
  static constexpr EnumName<Topology> kNames[] = {
      {Topology::Switch, "switch"},   {Topology::FullMesh, "fullMesh"}, {Topology::Ring, "ring"},
      {Topology::Torus2d, "torus2d"}, {Topology::Torus3d, "torus3d"},   {Topology::HostPcie, "hostPcie"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Precision>> enumNames<Precision>() {
  static constexpr EnumName<Precision> kNames[] = {
      {Precision::Fp32, "fp32"}, {Precision::Fp16, "fp16"},   {Precision::Bf16, "bf16"},
      {Precision::Fp8, "fp8"},   {Precision::Mxfp8, "mxfp8"}, {Precision::Nvfp4, "nvfp4"},
  };
  return kNames;
}

template <>
std::span<const EnumName<GradientPrecision>> enumNames<GradientPrecision>() {
  static constexpr EnumName<GradientPrecision> kNames[] = {
      {GradientPrecision::Auto, "auto"},
      {GradientPrecision::Fp32, "fp32"},
      {GradientPrecision::Bf16, "bf16"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Optimizer>> enumNames<Optimizer>() {
  static constexpr EnumName<Optimizer> kNames[] = {
      {Optimizer::Adam, "adam"},
      {Optimizer::Sgd, "sgd"},
  };
  return kNames;
}

template <>
std::span<const EnumName<AttentionKernel>> enumNames<AttentionKernel>() {
  static constexpr EnumName<AttentionKernel> kNames[] = {
      {AttentionKernel::Flash2, "flash2"},
      {AttentionKernel::Flash1, "flash1"},
      {AttentionKernel::Flash3, "flash3"},
      {AttentionKernel::UnfusedFusedSoftmax, "unfused-fused-softmax"},
      {AttentionKernel::UnfusedTorch, "unfused-torch"},
      {AttentionKernel::Flash2, "flash"},
      {AttentionKernel::UnfusedTorch, "unfused"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Launcher>> enumNames<Launcher>() {
  static constexpr EnumName<Launcher> kNames[] = {
      {Launcher::None, "none"},
      {Launcher::MegatronLm, "megatron-lm"},
      {Launcher::Torchtitan, "torchtitan"},
      {Launcher::DeepSpeed, "deepspeed"},
      {Launcher::MindSpeed, "mindspeed"},
      {Launcher::Nanotron, "nanotron"},
      {Launcher::ColossalAi, "colossalai"},
      {Launcher::LlmFoundry, "llm-foundry"},
      {Launcher::InternEvo, "internevo"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Recompute>> enumNames<Recompute>() {
  static constexpr EnumName<Recompute> kNames[] = {
      {Recompute::None, "none"},
      {Recompute::Selective, "selective"},
      {Recompute::Full, "full"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Schedule>> enumNames<Schedule>() {
  static constexpr EnumName<Schedule> kNames[] = {
      {Schedule::OneForwardOneBackward, "1f1b"},
      {Schedule::GPipe, "gpipe"},
      {Schedule::Interleaved, "interleaved-1f1b"},
      {Schedule::ZeroBubbleH1, "zb-1p"},
      {Schedule::ZeroBubble2p, "zb-2p"},
      {Schedule::ZeroBubbleV, "zb-v"},
      {Schedule::DualPipe, "dualpipe"},
  };
  return kNames;
}

template <>
std::span<const EnumName<ContextKind>> enumNames<ContextKind>() {
  static constexpr EnumName<ContextKind> kNames[] = {
      {ContextKind::Ring, "ring"},
      {ContextKind::AllToAll, "allToAll"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Placement>> enumNames<Placement>() {
  static constexpr EnumName<Placement> kNames[] = {
      {Placement::DataBeforePipeline, "dataBeforePipeline"},
      {Placement::PipelineBeforeData, "pipelineBeforeData"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Objective>> enumNames<Objective>() {
  static constexpr EnumName<Objective> kNames[] = {
      {Objective::StepTime, "stepTime"},
      {Objective::TokensPerSecondPerDevice, "tokensPerSecondPerDevice"},
      {Objective::Cost, "cost"},
  };
  return kNames;
}

template <>
std::span<const EnumName<Severity>> enumNames<Severity>() {
  static constexpr EnumName<Severity> kNames[] = {
      {Severity::Error, "error"},
      {Severity::Warning, "warning"},
      {Severity::Note, "note"},
  };
  return kNames;
}

template <>
std::span<const EnumName<TimeTerm>> enumNames<TimeTerm>() {
  static constexpr EnumName<TimeTerm> kNames[] = {
      {TimeTerm::Compute, "compute"},
      {TimeTerm::Recompute, "recompute"},
      {TimeTerm::TensorCommunication, "tensorCommunication"},
      {TimeTerm::TensorReduction, "tensorReduction"},
      {TimeTerm::ContextCommunication, "contextCommunication"},
      {TimeTerm::ExpertCommunication, "expertCommunication"},
      {TimeTerm::PipelineCommunication, "pipelineCommunication"},
      {TimeTerm::DataCommunication, "dataCommunication"},
      {TimeTerm::DataReduction, "dataReduction"},
      {TimeTerm::Overlapped, "overlapped"},
      {TimeTerm::Bubble, "bubble"},
      {TimeTerm::OptimizerStep, "optimizerStep"},
      {TimeTerm::Host, "host"},
  };
  return kNames;
}

template <>
std::span<const EnumName<MemoryClass>> enumNames<MemoryClass>() {
  static constexpr EnumName<MemoryClass> kNames[] = {
      {MemoryClass::Weights, "weights"},
      {MemoryClass::Gradients, "gradients"},
      {MemoryClass::OptimizerStates, "optimizerStates"},
      {MemoryClass::Activations, "activations"},
      {MemoryClass::Logits, "logits"},
      {MemoryClass::WorkingSet, "workingSet"},
      {MemoryClass::CommunicationBuffers, "communicationBuffers"},
      {MemoryClass::Reserve, "reserve"},
  };
  return kNames;
}

}  // namespace meshwise
