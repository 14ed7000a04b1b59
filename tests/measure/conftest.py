from ioplateau.measure import native
from twins import in_both_ways

twin = in_both_ways(native, "scan")
