//! The faces, the conversions between wire and engine, the command line, and the wiring.
