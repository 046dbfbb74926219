//! What can go wrong in the sparse layer.

/// A linear system could not be set up or solved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    /// The matrix is not positive definite: a pivot of its factor is zero, negative or not a number.
    #[error(
        "the matrix is not positive definite: the pivot of node {node} is not positive; \
         project the element blocks to positive semi-definite, or add to the diagonal"
    )]
    NotPositive {
        /// The node whose pivot failed.
        node: u32,
    },
    /// Conjugate gradients met a direction along which the matrix is not positive.
    #[error(
        "the matrix is not positive definite: conjugate gradients broke down in iteration {iteration}; \
         project the element blocks to positive semi-definite, or add to the diagonal"
    )]
    Indefinite {
        /// Iterations before.
        iteration: usize,
    },
    /// A number is infinite or not a number, or the sum of squares overflows.
    #[error("the {what} holds numbers that are not finite or too large; check what it was assembled from")]
    NotFinite {
        /// The slice.
        what: &'static str,
    },
    /// A block size that is not supported.
    #[error("a block of {block} numbers a side is not supported; use 1 or 3")]
    Block {
        /// The size asked for.
        block: usize,
    },
    /// A slice does not have the length the pattern asks for.
    #[error("{what} holds {found} numbers, but {expected} are needed")]
    Length {
        /// The slice.
        what: &'static str,
        /// Numbers it holds.
        found: usize,
        /// Numbers it should hold.
        expected: usize,
    },
    /// The factor would need more memory than 32-bit places can name.
    #[error("the factor of {nodes} nodes is too large; use conjugate gradients instead")]
    TooLarge {
        /// Nodes of the pattern.
        nodes: usize,
    },
}
