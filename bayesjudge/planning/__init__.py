"""The cheapest campaign for a precision, and the most precise one for a price."""
