package load

// Fairness returns Jain's index of how evenly something was shared: 1 when all have the same, 1/n when one of n has it all,
// k/n when k of n share it evenly and the others have nothing. It is 1 when nobody has anything.
func Fairness(shares []int64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += float64(s)
		squares += float64(s) * float64(s)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
