"""Who scores what: schedules that an evaluation follows, and what is asked of them."""
