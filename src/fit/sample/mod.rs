//! NUTS.
