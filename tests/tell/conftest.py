from ioplateau.tell import prometheus
from twins import in_both_ways

twin = in_both_ways(prometheus, "twin")
