//! The built-in tools, one file each, their descriptions beside them.
