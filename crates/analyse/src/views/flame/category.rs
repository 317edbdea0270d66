//! What a node is, as a number of the list that timelines use.

use stepscope_model::Kind;

use crate::views::timeline::category_of;

pub(super) const PYTHON: u8 = 1;
const STEP: u8 = 13;
/// Threads, and what represents several things.
pub(super) const OTHER: u8 = 15;

/// The category of a frame; `kind` is what its slices are.
pub(super) fn for_frame(kind: Option<Kind>, is_steps: bool, name: &str) -> u8 {
    if is_steps {
        return STEP;
    }
    kind.map_or(OTHER, |kind| category_of(kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::timeline::CATEGORIES;

    #[test]
    fn frames_have_the_categories_of_timelines() {
        let named = |kind, name| CATEGORIES[usize::from(for_frame(kind, false, name))];
        assert_eq!(
            named(Some(Kind::Kernel), "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN"),
            "matrix multiply"
        );
        assert_eq!(named(Some(Kind::Kernel), "vectorized_elementwise_kernel<4>"), "elementwise");
        assert_eq!(named(Some(Kind::Runtime), "cudaStreamSynchronize"), "device wait");
        assert_eq!(named(Some(Kind::Runtime), "cudaLaunchKernel"), "runtime call");
        assert_eq!(named(Some(Kind::HostOp), "aten::mm"), "operator");
        assert_eq!(named(Some(Kind::HostAnnotation), "ProfilerStep#7"), "step");
        assert_eq!(named(Some(Kind::Memcpy), "Memcpy HtoD"), "copy");
        assert_eq!(named(None, "thread 1"), "other");
        assert_eq!(CATEGORIES[usize::from(for_frame(None, true, "ProfilerStep*"))], "step");
        assert_eq!(CATEGORIES[usize::from(PYTHON)], "Python");
    }
}
