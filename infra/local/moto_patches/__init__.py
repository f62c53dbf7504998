"""Everything that touches moto's insides. See `registry` for the list, and `tests/unit/local` for the canaries."""
