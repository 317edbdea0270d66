//! Work that a model does at its beginning or its end, and no layer does: what its name says.

use super::copies::{Direction, copy_name};

/// The end of a model that work belongs to, the surest first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum End {
    Optimizer,
    Embedding,
    Loss,
    /// Rows are picked out of a tensor, as an embedding does; some layers do that too.
    Gather,
    /// A token is chosen.
    Sampling,
    /// Something comes from the host.
    Upload,
    /// Something goes to the host; experts of a layer may ask for that too.
    Download,
}

impl End {
    /// Whether no layer has such work.
    pub(crate) fn is_sure(self) -> bool {
        matches!(self, End::Optimizer | End::Embedding | End::Loss)
    }
}

/// What an operator's name says about its kernels.
pub(crate) fn end_of_operator(name: &str) -> Option<End> {
    match name {
        "aten::embedding" | "aten::_embedding_bag" => Some(End::Embedding),
        "aten::nll_loss_forward" | "aten::nll_loss2d_forward" | "aten::mse_loss" => Some(End::Loss),
        "aten::argmax" | "aten::multinomial" => Some(End::Sampling),
        _ => None,
    }
}

/// What the name of a kernel or a copy says.
pub(crate) fn end_of_kernel(name: &str) -> Option<End> {
    match copy_name(name).0 {
        Direction::HostToDevice => return Some(End::Upload),
        Direction::DeviceToHost => return Some(End::Download),
        _ => {}
    }
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["backward", "_bwd"]) {
        None
    } else if has(&["fusedadam", "fusedsgd", "adamfunctor", "sgdfunctor", "fused_adam"]) {
        Some(End::Optimizer)
    } else if has(&["embedding"]) && !has(&["rotary", "rope", "positional"]) {
        Some(End::Embedding)
    } else if has(&["nll_loss", "cross_entropy"]) {
        Some(End::Loss)
    } else if has(&["argmax", "multinomial", "sampling"]) {
        Some(End::Sampling)
    } else if has(&["indexselect", "gather_kernel"]) {
        Some(End::Gather)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_no_ends() {
        let kernel = |name: &str| end_of_kernel(name);
        assert_eq!(
            kernel("void at::native::(anonymous namespace)::indexSelectLargeIndex<float>"),
            Some(End::Gather)
        );
        assert_eq!(kernel("void vllm::rotary_embedding_kernel<c10::BFloat16>"), None);
        assert_eq!(kernel("triton_poi_fused_embedding_0"), Some(End::Embedding));
        assert_eq!(kernel("embedding_backward_feature_kernel"), None);
        assert_eq!(kernel("Memcpy HtoD (Pinned -> Device)"), Some(End::Upload));
        assert_eq!(kernel("Memcpy DtoD (Device -> Device)"), None);
        assert_eq!(kernel("ampere_sgemm_128x64_tn"), None);
        assert_eq!(end_of_operator("aten::embedding"), Some(End::Embedding));
        assert_eq!(end_of_operator("aten::mm"), None);
    }
}
