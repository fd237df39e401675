"""Many fits: spread over processes, written one by one, resumed."""
