//! The table of our methods: one row is the whole truth about one.
