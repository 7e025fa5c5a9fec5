//! Where and when a handle is closed.
