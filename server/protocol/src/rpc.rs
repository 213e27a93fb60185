//! The JSON-RPC 2.0 peer that serves every connection: both framings, requests both ways, exactly one answer to each, cancel at decode, panics caught,
//! an end on end of input.
