//! The split of rows into a training and a test part, exactly as the widespread Python libraries
//! draw it.
//!
//! The generator is the 32-bit Mersenne Twister (Matsumoto and Nishimura 1998); the permutation
//! walks from the end and draws by masked rejection, so a stated seed gives the same rows as the
//! original.

const SIZE: usize = 624;

/// The Mersenne Twister with its state.
#[derive(Debug, Clone)]
pub struct Twister {
    state: Vec<u32>,
    place: usize,
}

impl Twister {
    /// A generator from a seed.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = Vec::with_capacity(SIZE);
        let mut last = seed;
        state.push(last);
        for step in 1..SIZE as u32 {
            last = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(step);
            state.push(last);
        }
        Self { state, place: SIZE }
    }

    fn word(&self, place: usize) -> u32 {
        self.state.get(place % SIZE).copied().unwrap_or(0)
    }

    fn refill(&mut self) {
        for place in 0..SIZE {
            let mixed = (self.word(place) & 0x8000_0000) | (self.word(place + 1) & 0x7fff_ffff);
            let twist = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            let next = self.word(place + 397) ^ (mixed >> 1) ^ twist;
            if let Some(slot) = self.state.get_mut(place) {
                *slot = next;
            }
        }
        self.place = 0;
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.place >= SIZE {
            self.refill();
        }
        let mut y = self.word(self.place);
        self.place += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// A whole number from 0 to `limit`, both included, by masked rejection.
    pub fn up_to(&mut self, limit: u32) -> u32 {
        if limit == 0 {
            return 0;
        }
        let mask = u32::MAX >> limit.leading_zeros();
        loop {
            let value = self.next_u32() & mask;
            if value <= limit {
                return value;
            }
        }
    }

    /// A random order of `0..count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            let other = self.up_to(u32::try_from(place).unwrap_or(u32::MAX)) as usize;
            order.swap(place, other);
        }
        order
    }
}

/// The places of the training rows and of the test rows, for a share of test rows and a seed.
#[must_use]
pub fn split(count: usize, test_share: f64, seed: u32) -> (Vec<usize>, Vec<usize>) {
    // The tiny subtraction keeps a product such as 0.2 * 715 from being rounded up by its last bit
    // alone.
    let tests = ((count as f64 * test_share) - 1e-9).ceil().max(0.0) as usize;
    let order = Twister::new(seed).permutation(count);
    let test = order.iter().copied().take(tests).collect();
    (order.iter().copied().skip(tests).collect(), test)
}

#[cfg(test)]
mod check {
    use super::*;

    #[test]
    fn agrees_with_numpy() {
        assert_eq!(Twister::new(5489).next_u32(), 3_499_211_612);
        assert_eq!(Twister::new(42).permutation(10), [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
        let (train, test) = split(10, 0.2, 42);
        assert_eq!(test, [8, 1]);
        assert_eq!(train, [5, 0, 7, 2, 9, 4, 3, 6]);
    }
}
