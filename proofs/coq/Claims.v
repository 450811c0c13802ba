(* Every claim, restated in full. A statement here stands on its own definitions only by name, and
   those are printed in definitions.golden, the statements in claims.golden: none can be weakened
   unseen. Each comment names the clause, or the paper's label where there is no clause, and says in
   words what is claimed and which statement of the paper it corrects. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect perm all_algebra.
From SLIP Require Import Probability Ring Masking Linear Planes Integrity Randomness Generator.
From SLIP Require Import Kernels Executable Decomposition Attention Convolution Model Session Primes.
From SLIP Require Import Lattice Floats FloatProducts FloatBounds FloatSets Binary64 LatticeSession Hiding.
From SLIP Require Import HidingSession.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------------- ring *)

(* RING-2. The canonical representative of embed(v) is v mod L, for negative v too. *)
Definition claim_embed_canonical :
  forall L : nat, (1 < L)%N -> forall v : int, (embed L v : nat)%:Z = (v %% L)%Z
  := embed_mod.

(* RING-3. The lift of the embedding gives v back if and only if v lies in the range
   -floor(L/2) .. floor((L-1)/2). The paper's recovery stops at mod L and has no lift. *)
Definition claim_lift_range :
  forall L : nat, (1 < L)%N -> forall v : int,
  lift (embed L v) = v <-> - (L./2)%:Z <= v <= ((L.-1)./2)%:Z
  := lift_embed.

(* RING-3. The embedding of the lift is the residue itself, and every lift is in the range. *)
Definition claim_lift_section :
  forall L : nat, (1 < L)%N -> forall r : 'Z_L,
  embed L (lift r) = r /\ - (L./2)%:Z <= lift r <= ((L.-1)./2)%:Z
  := fun L L_gt1 r => conj (lift_embedK L_gt1 r) (lift_range L_gt1 r).

(* RING-5. The planes of a matrix over Z_L, L a product of different primes, determine it, and any
   choice of planes is that of one matrix. *)
Definition claim_planes_bijective :
  forall (h : nat) (p : 'I_h -> nat),
  (forall i, prime (p i)) -> injective p -> (1 < modulus p)%N ->
  forall m n : nat, bijective (@planes h p (modulus p) m n)
  := planes_bijective.

(* RAND-3, RING-5. Uniform planes are a uniform residue. *)
Definition claim_planes_uniform :
  forall (h : nat) (p : 'I_h -> nat),
  (forall i, prime (p i)) -> injective p -> (1 < modulus p)%N ->
  forall (m n : nat) (J : pred (plane_family p m n)),
  Pr (@uniform [finType of 'M['Z_(modulus p)]_(m, n)]) (fun x => J (planes p x))
    = Pr (@uniform (plane_family p m n)) J
  := planes_uniform.

(* RING-5. The residue from its bytes: sum_i (r_i inv_i mod p_i) (L / p_i) mod L. *)
Definition claim_planes_formula :
  forall (h : nat) (p : 'I_h -> nat),
  (forall i, prime (p i)) -> injective p -> forall inv : 'I_h -> nat,
  (forall i, (inv i * (modulus p %/ p i) = 1 %[mod p i])%N) ->
  forall r : nat, (from_planes p inv (fun i => r %% p i) %% modulus p = r %% modulus p)%N
  := from_planes_residue.

(* PARAM-1, RING-5. The set `paper`: four different primes, none below 233, their product, and the
   inverses 71, 119, 78, 209. *)
Definition claim_paper :
  different_primes paper /\ (forall i, (233 <= paper i)%N) /\
  Z.of_nat (modulus paper) = Zpos 3368562317%positive /\
  (forall i, (paper_inverse i * (modulus paper %/ paper i) = 1 %[mod paper i])%N)
  := conj paper_different (conj paper_least (conj paper_modulus paper_inverse_ok)).

(* RING-5. The first h of the seven primes are different primes, 1 <= h <= 7. *)
Definition claim_first_primes :
  forall h : nat, (0 < h <= 7)%N -> different_primes (@first_primes h)
  := first_primes_different.

(* ---------------------------------------------------------------------------------- masking *)

(* MASK-2. For every fixed activation the map from the mask to the message is a bijection. *)
Definition claim_mask_bijective :
  forall (L n b : nat) (q : 'M[int]_(n, b)),
  bijective (fun r : 'M['Z_L]_(n, b) => mask q r)
  := mask_bijective.

(* MASK-2. Exactly one mask turns a given activation into a given message: the message is uniform.
   This is the counting statement that the paper's proof of its first theorem needs; in its first
   case it reads n = a - s where n = a - (s mod L) is meant. *)
Definition claim_mask_uniform :
  forall (L n b : nat) (q : 'M[int]_(n, b)) (x : 'M['Z_L]_(n, b)),
  #|[set r : 'M['Z_L]_(n, b) | mask q r == x]| = 1%N
  := mask_one.

(* MASK-2. The joint law, for any prior. T is any finite probability space, mu its weights, q(t)
   the activation, and t may hold anything that the mask is independent of. Whatever J one asks of
   t and the message together has the same probability as if the message were drawn uniformly and
   independently of t. The paper claims the independence and does not show it. *)
Definition claim_mask_joint_law :
  forall (L n b : nat) (T : finType) (mu : T -> rat) (q : T -> 'M[int]_(n, b))
         (J : pred (T * 'M['Z_L]_(n, b))),
  Pr (independent mu (@uniform [finType of 'M['Z_L]_(n, b)]))
     (fun z => J (z.1, mask (q z.1) z.2))
    = Pr (independent mu (@uniform [finType of 'M['Z_L]_(n, b)])) J
  := mask_joint_law.

(* MASK-2. In particular Pr[E and x~ = x] = Pr[E] L^-(n b) for every event E on t. *)
Definition claim_mask_independent :
  forall (L n b : nat) (T : finType) (mu : T -> rat) (q : T -> 'M[int]_(n, b)) (E : pred T)
         (x : 'M['Z_L]_(n, b)),
  (1 < L)%N ->
  Pr (independent mu (@uniform [finType of 'M['Z_L]_(n, b)]))
     (fun z => E z.1 && (mask (q z.1) z.2 == x))
    = Pr mu E / (L ^ (n * b))%:R
  := mask_probability.

(* MASK-3, MASK-4. Over any ring David's reply less the cancellation is the product. *)
Definition claim_unmask_ring :
  forall (R : ringType) (m n b : nat) (W : 'M[R]_(m, n)) (a r : 'M[R]_(n, b)),
  W *m (a + r) - W *m r = W *m a
  := unmask_ring.

(* MASK-4. Over Z the unmasked reply is the product if and only if every entry of the product is in
   the range of the lift. The paper's lemma asks for L >= |W a|, which does not suffice. *)
Definition claim_unmask_iff :
  forall L : nat, (1 < L)%N ->
  forall (m n b : nat) (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)),
  unmask (product W (mask q r)) (cancellation W r) = W *m q
    <-> (forall i j, - (L./2)%:Z <= (W *m q) i j <= ((L.-1)./2)%:Z)
  := unmask_iff.

(* MASK-4, ENC-4. The static bound L >= 2 Bnd + 1 suffices, Bnd = B_q B_w of Cauchy and Schwarz. *)
Definition claim_unmask_exact :
  forall L : nat, (1 < L)%N ->
  forall (m n b B_q : nat) (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)),
  (2 * static_bound B_q W + 1 <= L)%N -> within B_q q ->
  unmask (product W (mask q r)) (cancellation W r) = W *m q
  := unmask_exact.

(* ENC-3. B_w is the least integer whose square is at least every row's sum of squares. *)
Definition claim_weight_norm :
  forall (m n : nat) (W : 'M[int]_(m, n)) (b : nat),
  (weight_norm W <= b)%N <-> forall i, (\sum_j absz (W i j) ^ 2 <= b ^ 2)%N
  := weight_norm_least.

(* ENC-4. Cauchy and Schwarz, over the integers. *)
Definition claim_cauchy_schwarz :
  forall (n : nat) (w q : 'I_n -> int),
  (\sum_j w j * q j) ^+ 2 <= (\sum_j w j ^+ 2) * (\sum_j q j ^+ 2)
  := cauchy_schwarz.

(* ENC-3. The activation norm that the clause chooses satisfies the static bound. *)
Definition claim_activation_norm_bound :
  forall (cap L m n : nat) (W_D : 'M[int]_(m, n)),
  (0 < L)%N -> (2 * static_bound (activation_norm cap L W_D) W_D + 1 <= L)%N
  := activation_norm_bound.

(* ----------------------------------------------------------------------------------- linear *)

(* DECO-1. Charlie's part A B has rank at most k. *)
Definition claim_low_rank :
  forall (m n k : nat) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n)),
  (\rank (map_mx intr (A *m B) : 'M[rat]_(m, n)) <= k)%N
  := rank_low.

(* LIN-2, LIN-4, DECO-1. One exchange gives W_int q over Z, W_int = 2^t W_D + A B, whatever the
   mask. The paper joins an SVD, integers and exact results; they go together for this integer model,
   and not for a matrix that is rounded first and split afterwards. *)
Definition claim_layer_correct :
  forall (t m n k b : nat) (W_D : 'M[int]_(m, n)) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n))
         (L B_q : nat) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)),
  (1 < L)%N -> (2 * static_bound B_q W_D + 1 <= L)%N -> within B_q q ->
  2%:Z ^+ t *: unmask (product W_D (mask q r)) (cancellation W_D r) + A *m (B *m q)
    = (2%:Z ^+ t *: W_D + A *m B) *m q
  := layer_correct.

(* DECO-7, LIN-2, ENC-5. Charlie's sum in words of w bits, w = 64, with wrapping partial sums, is
   W_int q over Z, if B_q max_i ||W_int[i]||_1 <= 2^(w-1) - 1. *)
Definition claim_word_sum :
  forall (t m n k b : nat) (W_D : 'M[int]_(m, n)) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n))
         (w B_q : nat) (q : 'M[int]_(n, b)),
  (0 < w)%N -> (word_bound B_q (2%:Z ^+ t *: W_D + A *m B) <= (2 ^ w.-1).-1)%N ->
  within B_q q ->
  charlie_sum_word w t A B (W_D *m q) q = (2%:Z ^+ t *: W_D + A *m B) *m q
  := word_sum_exact.

(* LIN-3. A group's product is the stack of its members' products ... *)
Definition claim_group_product :
  forall (L m1 m2 n b : nat) (W1 : 'M[int]_(m1, n)) (W2 : 'M[int]_(m2, n))
         (x : 'M['Z_L]_(n, b)),
  product (col_mx W1 W2) x = col_mx (product W1 x) (product W2 x)
  := product_stack.

(* LIN-3. ... and its static bound is the greater of theirs. *)
Definition claim_group_bound :
  forall (m1 m2 n : nat) (W1 : 'M[int]_(m1, n)) (W2 : 'M[int]_(m2, n)) (B_q : nat),
  static_bound B_q (col_mx W1 W2) = maxn (static_bound B_q W1) (static_bound B_q W2)
  := @static_bound_stack.

(* -------------------------------------------------------------------------------- integrity *)

(* INTEG-2, INTEG-3, INTEG-4. The right reply is accepted, whatever rho is: honest replies are
   never rejected, and their verdict tells nothing on rho. *)
Definition claim_honest_accepted :
  forall (R : comRingType) (m n b kappa : nat) (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
         (x : 'M[R]_(n, b)),
  accepts rho (companion rho W) x (W *m x)
  := accepts_honest.

(* INTEG-4. Freivalds over any finite field: the number of rho that accept a reply with the error
   E is |F|^(kappa (M - rank E)). *)
Definition claim_freivalds_count :
  forall (F : finFieldType) (M n b kappa : nat) (W : 'M[F]_(M, n)) (x : 'M[F]_(n, b))
         (E : 'M[F]_(M, b)),
  #|[set rho : 'M[F]_(M, kappa) | accepts rho (companion rho W) x (W *m x + E)]|
    = (#|F| ^ (kappa * (M - \rank E)))%N
  := card_accept.

(* INTEG-4. A wrong column in one repetition: exactly |F|^(M-1) of the |F|^M vectors rho accept. *)
Definition claim_freivalds_column :
  forall (F : finFieldType) (M n : nat) (W : 'M[F]_(M, n)) (x : 'cV[F]_n) (e : 'cV[F]_M),
  e != 0 ->
  #|[set rho : 'cV[F]_M | accepts rho (companion rho W) x (W *m x + e)]| = (#|F| ^ (M - 1))%N
  := fun F M n W x e e_neq0 =>
       etrans (card_accept 1 W x e)
              (congr1 (expn #|F|) (etrans (mul1n _) (congr1 (subn M) (rank_column e_neq0)))).

(* INTEG-4. A wrong column is accepted in kappa repetitions with probability exactly |F|^-kappa. *)
Definition claim_freivalds_exact :
  forall (F : finFieldType) (M n kappa : nat) (W : 'M[F]_(M, n)) (x : 'cV[F]_n) (e : 'cV[F]_M),
  e != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + e)) = (#|F|%:R ^+ kappa)^-1
  := Pr_accept_column.

(* INTEG-3, INTEG-4. A message with any nonzero error, several columns or one, is accepted with
   probability at most |F|^-kappa. *)
Definition claim_freivalds_bound :
  forall (F : finFieldType) (M n b kappa : nat) (W : 'M[F]_(M, n)) (x : 'M[F]_(n, b))
         (E : 'M[F]_(M, b)),
  E != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + E)) <= (#|F|%:R ^+ kappa)^-1
  := Pr_accept_le.

(* INTEG-4. The error E of a message, E_p its plane of the prime p: w accepts with probability
   exactly the product over the primes of p^(-kappa rank E_p). A group of M rows uses the first M of
   the R rows of w. *)
Definition claim_check_exact :
  forall (h : nat) (p : 'I_h -> nat) (R kappa : nat) (G : finType) (M N : G -> nat)
         (W_D : forall g, 'M[int]_(M g, N g)),
  (forall i, prime (p i)) -> (1 < modulus p)%N -> (forall g, (M g <= R)%N) ->
  forall (x : message p N) (E : reply M x),
  Pr (@uniform (secrets p R kappa)) (fun w => verdict W_D w (right_reply W_D x + E))
    = \prod_i ((p i)%:R ^+ (kappa * \rank (plane_mx (p i) E)))^-1
  := Pr_verdict.

(* INTEG-3, INTEG-4. A wrong reply, in whichever planes, is accepted with probability at most
   least^-kappa, no prime being less than least. *)
Definition claim_check_bound :
  forall (h : nat) (p : 'I_h -> nat) (R kappa : nat) (G : finType) (M N : G -> nat)
         (W_D : forall g, 'M[int]_(M g, N g)),
  (forall i, prime (p i)) -> injective p -> (1 < modulus p)%N -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= p i)%N) ->
  forall (x : message p N) (y : reply M x), y != right_reply W_D x ->
  Pr (@uniform (secrets p R kappa)) (fun w => verdict W_D w y) <= (least%:R ^+ kappa)^-1
  := verdict_wrong.

(* INTEG-10. One w for all that is ever checked. A strategy chooses the next message and the reply to
   it by all verdicts so far: all hosts, all sessions, open at the same time or not. Of any number T
   of replies, Q of them wrong, some wrong one is accepted with probability at most Q least^-kappa. *)
Definition claim_adaptive_bound :
  forall (h : nat) (p : 'I_h -> nat) (R kappa : nat) (G : finType) (M N : G -> nat)
         (W_D : forall g, 'M[int]_(M g, N g)),
  (forall i, prime (p i)) -> injective p -> (1 < modulus p)%N -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= p i)%N) ->
  forall (s : strategy p M N) (Q T : nat) (seen : seq (item p M N * bool)),
  Pr (@uniform (secrets p R kappa)) (deceived W_D s Q T seen) <= Q%:R * (least%:R ^+ kappa)^-1
  := deceived_bound.

(* E-2. Composite modulus, p its smallest prime factor: no nonzero error is accepted by more
   than one rho in p. The paper says "finite field" and checks mod L; this is what mod L gives. *)
Definition claim_composite_bound :
  forall L : nat, (1 < L)%N -> forall (M : nat) (e : 'cV['Z_L]_M),
  e != 0 ->
  (#|[set rho : 'cV['Z_L]_M | rho^T *m e == 0%R]| * pdiv L
     <= #|[finType of 'cV['Z_L]_M]|)%N
  := composite_bound.

(* E-2. The error L/p in one entry is accepted by exactly one rho in p. *)
Definition claim_composite_attained :
  forall L : nat, (1 < L)%N -> forall (M : nat) (i : 'I_M),
  let e : 'cV['Z_L]_M := (L %/ pdiv L)%:R *: delta_mx i 0 in
  e != 0 /\
  (#|[set rho : 'cV['Z_L]_M | rho^T *m e == 0%R]| * pdiv L)%N = #|[finType of 'cV['Z_L]_M]|
  := composite_attained.

(* E-2. Over Z_2^e the chosen error 2^(e-1) in one entry is accepted exactly half the time. *)
Definition claim_power_of_two_half :
  forall e : nat, (0 < e)%N -> forall (M : nat) (i : 'I_M),
  let error : 'cV['Z_(2 ^ e)]_M := (2 ^ e.-1)%:R *: delta_mx i 0 in
  error != 0 /\
  Pr (@uniform [finType of 'cV['Z_(2 ^ e)]_M]) (fun rho => rho^T *m error == 0) = 2%:R^-1
  := power_of_two_half.

(* E-2. The lifted variant of the paper's sec:integrity_by_prob_verification, which the protocol
   does not use. Products and masks live in Z_2^(e+s), rho has entries uniform in [0, 2^s). A reply
   that is wrong in the low e bits of some entry is accepted with probability at most 2^(-s kappa) in
   kappa repetitions; only those bits are authenticated. *)
Definition claim_lifted_bound :
  forall (e s M N b kappa : nat) (W : 'M['Z_(2 ^ (e + s))]_(M, N))
         (x : 'M['Z_(2 ^ (e + s))]_(N, b)) (d : 'M['Z_(2 ^ (e + s))]_(M, b)),
  (0 < e)%N -> [exists i, exists j, ~~ (2 ^ e %| (d i j : nat))%N] ->
  Pr (@uniform [finType of 'M['I_(2 ^ s)]_(M, kappa)])
     (fun rho => accepts (lifted_rho e rho) (companion (lifted_rho e rho) W) x (W *m x + d))
    <= ((2 ^ s)%:R ^+ kappa)^-1
  := Pr_lifted_le.

(* -------------------------------------------------------------------------------- randomness *)

(* RAND-1. Different (plane, purpose, index, counter) give different inputs of the block cipher. *)
Definition claim_block_input_injective :
  forall plane purpose index counter plane' purpose' index' counter' : nat,
  (purpose < 256)%N -> (purpose' < 256)%N ->
  (index < 2 ^ 64)%N -> (index' < 2 ^ 64)%N -> (counter < 2 ^ 32)%N -> (counter' < 2 ^ 32)%N ->
  block_input (block_field plane purpose) index counter
    = block_input (block_field plane' purpose') index' counter' ->
  [/\ plane = plane', purpose = purpose', index = index' & counter = counter']
  := plane_block_injective.

(* RAND-2. Of the 2^w words, 2^(w-e) give the residue a, for every a below L. *)
Definition claim_sampler_value :
  forall w e L : nat, (e <= w)%N -> (L <= 2 ^ e)%N -> forall a : nat, (a < L)%N ->
  #|[set word : 'I_(2 ^ w) | (word %% 2 ^ e)%N == a]| = (2 ^ (w - e))%N
  := card_value.

(* RAND-2. 2^(w-e) L of the 2^w words are accepted. *)
Definition claim_sampler_accepted :
  forall w e L : nat, (e <= w)%N -> (L <= 2 ^ e)%N ->
  #|[set word : 'I_(2 ^ w) | (word %% 2 ^ e < L)%N]| = (2 ^ (w - e) * L)%N
  := card_accepted.

(* RAND-3. A finite stream of T words, conditioned on which words are accepted: every sequence of
   outputs has equally many streams, so the outputs are uniform and independent given the pattern. *)
Definition claim_sampler_pattern :
  forall w e L : nat, (e <= w)%N -> (L <= 2 ^ e)%N ->
  forall (T : nat) (pattern : seq bool) (outputs : seq nat),
  size pattern = T -> size outputs = count id pattern -> all (fun a => (a < L)%N) outputs ->
  #|[set words : T.-tuple 'I_(2 ^ w) | (acceptance e L (numbers words) == pattern)
                                       && (sampler e L (numbers words) == outputs)]|
    = ((2 ^ (w - e)) ^ count id pattern * (2 ^ (w - e) * (2 ^ e - L)) ^ count negb pattern)%N
  := card_pattern.

(* RAND-3. Among the streams of T words that yield at least c outputs, the first c are uniform on
   Z_L^c: each value has exactly its share L^-c. *)
Definition claim_sampler_prefix :
  forall w e L : nat, (e <= w)%N -> (L <= 2 ^ e)%N ->
  forall (T : nat) (outputs : seq nat), all (fun a => (a < L)%N) outputs ->
  (#|[set words : T.-tuple 'I_(2 ^ w) |
      take (size outputs) (sampler e L (numbers words)) == outputs]| * L ^ size outputs)%N
    = #|[set words : T.-tuple 'I_(2 ^ w) |
      (size outputs <= size (sampler e L (numbers words)))%N]|
  := card_prefix.

(* RAND-5. The switching lemma. A reader asks for at most n blocks, at points that are all different;
   what it asks for next may depend on the answers. Between the values of a random permutation and
   uniform blocks, any event on what it ends with differs by at most n (n - 1) / (2 |B|): for the
   blocks of AES |B| = 2^128. *)
Definition claim_switching :
  forall (B : finType) (A : Type) (E : A -> bool) (n : nat) (c : reader B A),
  fresh n [::] c ->
  `|Pr (@uniform [finType of {perm B}]) (fun s => E (read s c)) - chance E (read_uniform c)|
    <= (n * n.-1)%N%:R / (2 * #|B|)%N%:R
  := switching.

(* RAND-3, RAND-1. A finite stream of T words, of which c residues are wanted: any event on the
   residues differs from the same on uniform ones by at most the probability that the stream is
   exhausted. *)
Definition claim_finite_stream :
  forall w e L : nat, (e <= w)%N -> (0 < L)%N -> (L <= 2 ^ e)%N ->
  forall (T c : nat) (E : seq nat -> bool),
  `|Pr (@uniform [finType of T.-tuple 'I_(2 ^ w)]) (fun s => E (take c (sampler e L (numbers s))))
    - Pr (@uniform [finType of c.-tuple 'I_L]) (fun u => E (map val u))|
    <= Pr (@uniform [finType of T.-tuple 'I_(2 ^ w)])
          (fun s => (size (sampler e L (numbers s)) < c)%N)
  := finite_stream.

(* ---------------------------------------------------------------------------------- kernels *)

Section Machine.
Local Open Scope Z_scope.

(* LIN-1, PARAM-2. One pass in signed 32-bit words: with weights in -127..127 and bytes below 251
   every inner product of length n fits if and only if n <= 67637. *)
Definition claim_int32_pass :
  forall n : nat,
  (forall w u : list Z, length w = n -> length u = n ->
   Forall (fun a => -127 <= a <= 127) w -> Forall (fun a => 0 <= a <= 250) u ->
   -2 ^ 31 <= dot w u <= 2 ^ 31 - 1)
  <-> Z.of_nat n <= 67637
  := int32_bytes.

(* LIN-1. Passes over parts of the columns add up. *)
Definition claim_int32_passes :
  forall w1 w2 u1 u2 : list Z, length w1 = length u1 ->
  dot (w1 ++ w2) (u1 ++ u2) = dot w1 u1 + dot w2 u2
  := dot_app.

(* LIN-1. A centred byte is at most 125 in magnitude and has the same remainder ... *)
Definition claim_centred_byte :
  forall p r : Z, 0 < p <= 251 -> 0 <= r < p ->
  -125 <= centre p r <= 125 /\ (centre p r) mod p = r
  := centre_spec.

(* LIN-1. ... so that two products with weights fit a signed 16-bit word. *)
Definition claim_int16_pair :
  forall a b c d : Z,
  -127 <= a <= 127 -> -125 <= b <= 125 -> -127 <= c <= 127 -> -125 <= d <= 125 ->
  -2 ^ 15 < a * b + c * d < 2 ^ 15
  := pair_fits_int16.

(* RING-1. Addition and subtraction of canonical residues with one correction. *)
Definition claim_add_mod :
  forall L a b : Z, 0 <= a < L -> 0 <= b < L ->
  (if a + b <? L then a + b else a + b - L) = (a + b) mod L
  := add_mod_spec.
Definition claim_sub_mod :
  forall L a b : Z, 0 <= a < L -> 0 <= b < L ->
  (if b <=? a then a - b else a - b + L) = (a - b) mod L
  := sub_mod_spec.

End Machine.

(* ---------------------------------------------------------------------------- decomposition *)

(* The paper's more_then_one_ev and its corollary (DECO-2 for the split). Splitting at the singular
   values leaves parts that are orthogonal: the rows and columns of what Charlie keeps are orthogonal
   to those of the residual. *)
Definition claim_svd_orthogonal :
  forall (F : fieldType) (m n r : nat) (U : 'M[F]_(m, r)) (V : 'M[F]_(n, r))
         (kept rest : 'rV[F]_r),
  U^T *m U = 1%:M -> V^T *m V = 1%:M -> (forall i, kept 0 i * rest 0 i = 0) ->
  orthogonal_to (U *m diag_mx rest *m V^T) (U *m diag_mx kept *m V^T)
  := svd_orthogonal.

(* The paper's more_then_one_ev. Whoever knows the residual R knows bases U_perp and V_perp of the
   two complements, and the kept part is U_perp M V_perp for exactly one core M. *)
Definition claim_unknowns_core :
  forall (F : fieldType) (m n : nat) (R X : 'M[F]_(m, n)),
  (R^T *m X = 0 /\ X *m R^T = 0) <-> exists! M, X = U_perp R *m M *m V_perp R
  := unknowns_core.

(* The paper's corollary to more_then_one_ev counts n - k + 1. The matrices X that are orthogonal to
   R form a space of dimension (m - rank R) (n - rank R) ... *)
Definition claim_unknowns_dimension :
  forall (F : fieldType) (m n : nat) (R : 'M[F]_(m, n)),
  (forall X, X \in unknowns R <-> (R^T *m X = 0 /\ X *m R^T = 0)) /\
  \dim (unknowns R) = ((m - \rank R) * (n - \rank R))%N
  := fun F m n R => conj (unknownsP R) (dim_unknowns R).

(* The paper's corollary to more_then_one_ev, corrected. That is k (|m - n| + k) for a residual of
   rank min(m, n) - k. *)
Definition claim_unknowns_count :
  forall (F : fieldType) (m n : nat) (R : 'M[F]_(m, n)) (k : nat),
  (k <= minn m n)%N -> \rank R = (minn m n - k)%N ->
  \dim (unknowns R) = (k * ((maxn m n - minn m n) + k))%N
  := count_unknowns.

(* --------------------------------------------------------------------------------- attention *)

(* ATTN-6, the paper's app:attention. S (X W_v) = (S X) W_v. *)
Definition claim_attention_rearrangement :
  forall (R : ringType) (s d d_h : nat) (S : 'M[R]_s) (X : 'M[R]_(s, d)) (W_v : 'M[R]_(d, d_h)),
  S *m (X *m W_v) = (S *m X) *m W_v
  := rearrangement.

(* The paper's app:attention. A bias on V is added after (S X) W_v; the rows of S sum to one. *)
Definition claim_attention_bias :
  forall (R : ringType) (s d d_h : nat) (S : 'M[R]_s) (X : 'M[R]_(s, d)) (W_v : 'M[R]_(d, d_h))
         (bias : 'rV[R]_d_h),
  S *m const_mx 1 = const_mx 1 :> 'cV[R]_s ->
  S *m (X *m W_v + const_mx 1 *m bias) = (S *m X) *m W_v + const_mx 1 *m bias
  := rearrangement_bias.

(* ATTN-1, the paper's fig:attention, over any ring, with the corrected readings: two masked copies
   with a mask each, a_s = S(Q, K) X sent to W_v, output a_s W_v without a nonlinearity. It computes
   S(X W_q, X W_k) (X W_v) for every function S and all masks. *)
Definition claim_attention_protocol :
  forall (R : ringType) (s d d_h : nat)
         (score : 'M[R]_(s, d_h) -> 'M[R]_(s, d_h) -> 'M[R]_s)
         (Wq_C Wq_D Wk_C Wk_D Wv_C Wv_D : 'M[R]_(d, d_h)) (X r_q r_k r_v : 'M[R]_(s, d)),
  appendix_protocol score Wq_C Wq_D Wk_C Wk_D Wv_C Wv_D X r_q r_k r_v
    = score (X *m (Wq_C + Wq_D)) (X *m (Wk_C + Wk_D)) *m (X *m (Wv_C + Wv_D))
  := appendix_correct.

(* The paper's fig:attention on the integer model, with centred lifts; midterm is everything that
   Charlie does between the rounds. *)
Definition claim_attention_integers :
  forall (L t B_q s d d_h k : nat) (Wq Wk Wv : 'M[int]_(d_h, d)) (Aq Ak Av : 'M[int]_(d_h, k))
         (Bq Bk Bv : 'M[int]_(k, d))
         (midterm : 'M[int]_(d_h, s) -> 'M[int]_(d_h, s) -> 'M[int]_(d, s))
         (X : 'M[int]_(d, s)) (r_q r_k r_v : 'M['Z_L]_(d, s)),
  (1 < L)%N ->
  (2 * static_bound B_q Wq + 1 <= L)%N -> (2 * static_bound B_q Wk + 1 <= L)%N ->
  (2 * static_bound B_q Wv + 1 <= L)%N ->
  within B_q X -> (forall Q K, within B_q (midterm Q K)) ->
  attention_hybrid t Wq Wk Wv Aq Ak Av Bq Bk Bv midterm X r_q r_k r_v
    = attention_unsplit t Wq Wk Wv Aq Ak Av Bq Bk Bv midterm X
  := attention_exact.

(* ------------------------------------------------------------------------------- convolution *)

(* CNN-2 with stride 1 and no padding, the paper's cnn. The convolution is the product of vec(X)
   with a matrix whose row is (i, j, n),
   not n, and whose column is (i + u, j + v, c) counted from 0, not (i, j, c). *)
Definition claim_convolution :
  forall (R : comRingType) (H W C kH kW N H_o W_o : nat)
         (X : nat -> nat -> nat -> R) (K : nat -> nat -> nat -> nat -> R),
  (0 < C)%N -> (0 < W)%N -> (H_o + kH <= H.+1)%N -> (W_o + kW <= W.+1)%N ->
  forall r : 'I_(H_o * W_o * N),
  (convolution_matrix H W C kH kW N H_o W_o K *m vec H W C X) r 0
    = convolution C kH kW X K (row_of W_o N r) (column_of W_o N r) (channel_of N r)
  := convolution_correct.

(* The paper's cnn. The flat index is a bijection with its parts. *)
Definition claim_convolution_index :
  forall W C i j c : nat, (j < W)%N -> (c < C)%N ->
  [/\ row_of W C (index W C i j c) = i, column_of W C (index W C i j c) = j
    & channel_of C (index W C i j c) = c]
  := index_parts.
Definition claim_convolution_index_lt :
  forall H W C i j c : nat, (i < H)%N -> (j < W)%N -> (c < C)%N ->
  (index W C i j c < H * W * C)%N
  := index_lt.

(* ------------------------------------------------------------------------------------- model *)

(* MODEL-1, LIN-4. The full model, layer by layer: the hybrid activations are those of the unsplit
   integer model, for all masks, by induction over the layers. *)
Definition claim_chain_correct :
  forall (L t b : nat) (d k B_q : nat -> nat) (W_D : forall i, 'M[int]_(d i.+1, d i))
         (A : forall i, 'M[int]_(d i.+1, k i)) (B : forall i, 'M[int]_(k i, d i))
         (sigma : forall i, 'M[int]_(d i.+1, b) -> 'M[int]_(d i.+1, b)) (input : 'M[int]_(d 0%N, b))
         (r : forall i, 'M['Z_L]_(d i, b)) (T : nat),
  (1 < L)%N ->
  (forall i, (i < T)%N -> (2 * static_bound (B_q i) (W_D i) + 1 <= L)%N) ->
  within (B_q 0%N) input ->
  (forall i (z : 'M[int]_(d i.+1, b)), (i < T)%N -> within (B_q i.+1) (sigma i z)) ->
  hybrid_activation t W_D A B sigma input r T = unsplit_activation t W_D A B sigma input T
  := chain_correct.

(* --------------------------------------------------------------------------------- sessions *)
(* The claims of this part speak of one object, real_run: Charlie's whole program, with any use of
   the products, any inputs and outputs, and any way of going on after a broken session; one w for
   all of it, one fresh mask for each message, the check before unmasking, the end of the session at
   the first reject, and no message after the Qth reject. The environment is David, all hosts of him,
   the user and the network together; its decisions may depend on everything that it has seen. *)

(* MODEL-1, MODEL-4, LIN-4, INTEG-4. With a David who is right whenever he answers: for all masks
   and all w nothing is rejected, and every output is the unsplit model's. *)
Definition claim_model_correct :
  forall (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat)
         (e : environment M N In Out primes) (C : factors M N) (p : program M N In Out) (Q : nat),
  different_primes primes ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  admissible t W_D C B_q p -> truthful W_D e ->
  surely (fun h => faithful t W_D C p h && ~~ rejected h) (real_run R kappa t W_D e C Q p)
  := real_run_faithful.

(* THREAT-1, DEF-5, INTEG-10. The simulation theorem. omega, of any law mu, holds all that is fixed
   before masks and w are drawn: Charlie's factors C, his program p with the input and all secrets
   in it, and the environment e with its coins and whatever it knows. In the ideal the products are
   the unsplit model's; the simulator is told the group and the number of columns of each message,
   sends uniform residues, and ends the session at the first wrong reply. It knows W_D. Whatever J
   one asks of omega and of all that the environment sees, outputs among it, the two probabilities
   differ by at most Q least^-kappa, no prime being less than least. *)
Definition claim_simulation :
  forall (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat) (Omega : finType)
         (mu : Omega -> rat) (e : Omega -> environment M N In Out primes) (C : Omega -> factors M N)
         (p : Omega -> program M N In Out) (Q : nat),
  different_primes primes -> distribution mu ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  (forall o, admissible t W_D (C o) B_q (p o)) -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  forall J : Omega * transcript M N In Out primes -> bool,
  `|chance_over mu (fun o => real_run R kappa t W_D (e o) (C o) Q (p o)) J
    - chance_over mu (fun o => ideal_run t W_D (blind primes W_D) (e o) (C o) Q (p o)) J|
    <= Q%:R * (least%:R ^+ kappa)^-1
  := simulation.

(* THREAT-1, DEF-5. If David is right whenever he answers, the two are equal, for every w: he learns
   nothing from masked residues, exactly. *)
Definition claim_simulation_truthful :
  forall (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)),
  different_primes primes ->
  forall (e : environment M N In Out primes) (C : factors M N) (B_q : G -> nat),
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  forall (E : transcript M N In Out primes -> bool) (p : program M N In Out) (Q : nat)
         (w : secrets primes R kappa) (h : transcript M N In Out primes),
  truthful W_D e -> admissible t W_D C B_q p ->
  chance E (real t W_D e C Q w h p) = chance E (ideal t W_D (blind primes W_D) e C Q h p)
  := @real_truthful.

(* INTEG-4, INTEG-6, INTEG-10. Some wrong reply is accepted, in any session, group, message or
   column, with probability at most Q least^-kappa. The paper leaves the reuse of its r open. *)
Definition claim_session_bound :
  forall (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat) (Omega : finType)
         (mu : Omega -> rat) (e : Omega -> environment M N In Out primes) (C : Omega -> factors M N)
         (p : Omega -> program M N In Out) (Q : nat),
  different_primes primes -> distribution mu ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  (forall o, admissible t W_D (C o) B_q (p o)) -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  chance_over mu (fun o => real_run R kappa t W_D (e o) (C o) Q (p o)) (fun z => fooled W_D z.2)
    <= Q%:R * (least%:R ^+ kappa)^-1
  := real_fooled.

(* MODEL-1, INTEG-5, INTEG-6, INTEG-10. Some output is not the unsplit model's with probability at
   most Q least^-kappa: outputs are right, or there is none. *)
Definition claim_inference_integrity :
  forall (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat) (Omega : finType)
         (mu : Omega -> rat) (e : Omega -> environment M N In Out primes) (C : Omega -> factors M N)
         (p : Omega -> program M N In Out) (Q : nat),
  different_primes primes -> distribution mu ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  (forall o, admissible t W_D (C o) B_q (p o)) -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  chance_over mu (fun o => real_run R kappa t W_D (e o) (C o) Q (p o))
      (fun z => ~~ faithful t W_D (C z.1) (p z.1) z.2) <= Q%:R * (least%:R ^+ kappa)^-1
  := real_unfaithful.

(* THREAT-1, MASK-2. The joint law of omega, w and the view: with given omega and w a view of N
   residues has probability 0, because David's replies, inputs or verdicts never let it come about,
   or Pr[omega] Pr[w] L^-N. The view is every message, over all sessions, up to the end. Nothing is
   assumed of David. The paper writes "Charlie's view", and applies its theorem to each layer
   separately. *)
Definition claim_view_law :
  forall (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (Omega : finType)
         (mu : Omega -> rat) (e : Omega -> environment M N In Out primes) (C : Omega -> factors M N)
         (p : Omega -> program M N In Out) (Q : nat),
  different_primes primes ->
  forall (z : Omega * secrets primes R kappa) (v : seq (message primes N)),
  let P := chance_over (independent mu (@uniform (secrets primes R kappa)))
             (fun z => real t W_D (e z.1) (C z.1) Q z.2 [::] (p z.1))
             (fun r => (r.1 == z) && (view r.2 == v)) in
  P = 0 \/ P = mu z.1 / (#|secrets primes R kappa|
                          * modulus primes ^ (\sum_(x <- v) N (group x) * columns x))%N%:R
  := run_law.

(* THREAT-1. For a fixed schedule and a David whose replies are right, hence one who is only
   curious, every view has probability L^-N, independently of all that is fixed. *)
Definition claim_view_uniform :
  forall (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat)
         (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat) (Omega : finType)
         (mu : Omega -> rat) (e : Omega -> environment M N In Out primes) (C : Omega -> factors M N)
         (p : Omega -> program M N In Out) (Q : nat),
  different_primes primes ->
  forall (D : pred Omega) (shapes : seq (G * nat)) (v : seq (message primes N)),
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) -> (0 < Q)%N ->
  (forall o, admissible t W_D (C o) B_q (p o)) ->
  (forall o h x, david (e o) h x = Some (right W_D x)) ->
  (forall o, keeps_schedule shapes (p o)) -> schedule v = shapes ->
  chance_over mu (fun o => real_run R kappa t W_D (e o) (C o) Q (p o))
      (fun z => D z.1 && (view z.2 == v))
    = Pr mu D / (modulus primes ^ (\sum_(x <- v) N (group x) * columns x))%N%:R
  := run_uniform.

(* -------------------------------------------------------------------------- lattice masks *)

(* MASK-7. The product of two ring elements is the schoolbook's, with X^N = -1: it is the remainder of
   the product of polynomials by X^N + 1. rVpoly reads N coefficients as a polynomial. *)
Definition claim_negacyclic :
  forall (R : comRingType) (N : nat) (x y : 'rV[R]_N),
  (0 < N)%N ->
  (forall i : 'I_N, negacyclic x y 0 i
     = \sum_(j < N | (j <= i)%N) x 0 j * (rVpoly y)`_(i - j)
       - \sum_(j < N | (i < j)%N) x 0 j * (rVpoly y)`_(N + i - j)) /\
  rVpoly (negacyclic x y) = Pdiv.Ring.rmodp (rVpoly x * rVpoly y) ('X^N + 1)
  := fun R N x y N_gt0 => conj (negacyclic_schoolbook x y) (negacyclic_polynomial x y N_gt0).

(* MASK-7. Coefficient i of H S, H = W T, is W times coefficient i of T S: so it is the cancellation
   of that mask, whatever S is. *)
Definition claim_lattice_cancellation :
  forall (R : comRingType) (N m n d : nat) (W : 'M[R]_(m, n)) (T : 'M['rV[R]_N]_(n, d))
         (S : 'M[R]_(d, N)) (i : 'I_N),
  col i (ring_product (constant_product W T) S) = W *m col i (ring_product T S)
  := ring_column_constant.

(* MASK-8. The product of a message that takes mask i of a block is W_D q, exactly: for every T, S,
   noise e and error delta within the bounds, so it is the same for all of them. lattice_condition is
   2 (tau (noise_bound + error_bound) + B_w B_q) + 1 <= L and 2 B_w B_q < tau. *)
Definition claim_lattice_unmask_exact :
  forall L tau : nat, (1 < L)%N -> (1 < tau)%N ->
  forall (N m n d B_q noise_bound error_bound : nat) (W_D : 'M[int]_(m, n))
         (T : 'M['rV['Z_L]_N]_(n, d)) (S : 'M[int]_(d, N)) (e : 'M[int]_(n, N))
         (delta : 'M[int]_(m, N)) (i : 'I_N) (q : 'cV[int]_n),
  lattice_condition L tau noise_bound error_bound (static_bound B_q W_D) -> within B_q q ->
  at_most noise_bound (W_D *m e) -> at_most error_bound delta ->
  lattice_unmask tau (product W_D (mask q (col i (lattice_masks tau T S e))))
                 (col i (lattice_cancellations tau W_D T S delta)) = W_D *m q
  := lattice_block_exact.

(* THREAT-1, MASK-7, MASK-8, MASK-9. The simulation theorem with lattice masks, for the sessions of
   claim_simulation: the same program, environment, check and ideal, with blocks of masks in the place
   of uniform ones. T is uniform, one for each width, and public: the environment, the program and J
   know it. Secrets and noises of blocks are drawn from chi_S and chi_e, any laws. The program says
   which mask each column takes; it may use blocks partly, in any order, several of a group and of
   several groups in turn, and in several sessions, but no index twice. Cancellations may be off by
   tau times error, which may depend on all that is drawn but w.

   The difference is at most Q least^-kappa; and the probability that some noise of a block exceeds
   noise_bound on some row of W_D; and for each block the advantage of a machine, reduction j, in the
   game of Module-LWE with the T of that width and chi_S, chi_e: | Pr[D(T, T S + e)] - Pr[D(T, u)] |.
   The machine runs the environment once, with uniform masks for the blocks before j and honest ones
   after. Given (T', b) it publishes tau T' and takes tau b for the masks of block j; as tau is a unit
   mod L, tau T' is as uniform as T'. That its coins are a probability space is part of the claim. *)
Definition claim_lattice_simulation :
  forall (K : finType) (width : K -> nat) (G : finType) (input : G -> K) (M : G -> nat)
         (In Out : Type) (h : nat) (primes : 'I_h -> nat) (R kappa t tau : nat)
         (W_D : forall g, 'M[int]_(M g, group_width width input g)) (N d : nat) (blocks : G -> nat)
         (Secret : finType) (Noise : K -> finType) (secret : Secret -> 'M[int]_(d, N))
         (noise : forall k, Noise k -> 'M[int]_(width k, N)) (chi_S : Secret -> rat)
         (chi_e : forall k, Noise k -> rat) (Omega : finType) (mu : Omega -> rat)
         (e : Omega * publics width primes N d ->
              environment M (group_width width input) In Out primes)
         (C : Omega * publics width primes N d -> factors M (group_width width input))
         (p : Omega * publics width primes N d ->
              lattice_program M (group_width width input) In Out blocks N) (Q : nat)
         (error : Omega * publics width primes N d -> block_coins input blocks Secret Noise ->
                  forall j : block blocks, 'M[int]_(M (tag j), N))
         (B_q noise_bound error_bound : G -> nat) (least : nat)
         (J : (Omega * publics width primes N d)
              * transcript M (group_width width input) In Out primes -> bool),
  different_primes primes -> distribution mu -> distribution chi_S ->
  (forall k, distribution (@chi_e k)) -> (1 < tau)%N -> coprime tau (modulus primes) ->
  (forall g, lattice_condition (modulus primes) tau (noise_bound g) (error_bound g)
               (static_bound (B_q g) (W_D g))) ->
  (forall o z j, at_most (error_bound (tag j)) (error o z j)) ->
  (forall o, admissible t W_D (C o) B_q (forget (p o))) -> (forall o, takes_once set0 (p o)) ->
  (forall g, (M g <= R)%N) -> (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  let machine := reduction t tau W_D secret noise chi_S chi_e mu e C p Q J in
  (forall j, distribution (@law _ _ _ _ (machine j))) /\
  `|Pr (independent (independent mu (@uniform (publics width primes N d)))
          (independent (block_law chi_S chi_e) (@uniform (secrets primes R kappa))))
       (fun z => J (z.1, lattice_real t tau W_D secret noise (e z.1) (C z.1) z.1.2 z.2.1
                           (error z.1 z.2.1) z.2.2 Q (p z.1)))
    - chance_over (independent mu (@uniform (publics width primes N d)))
        (fun o => ideal_run t W_D (blind primes W_D) (e o) (C o) Q (forget (p o))) J|
  <= Q%:R * (least%:R ^+ kappa)^-1
     + Pr (block_law chi_S chi_e) (fun z => ~~ quiet W_D noise noise_bound z)
     + \sum_j advantage chi_S (@chi_e (input (tag j))) secret (@noise (input (tag j))) (machine j)
  := lattice_simulation.

(* ------------------------------------------------------------------------ the hidden split *)

(* HIDE-2, RING-5. The set `hidden`: six different primes, none below 227, and their product. *)
Definition claim_hidden :
  different_primes hidden /\ (forall i, (227 <= hidden i)%N) /\
  Z.of_nat (modulus hidden) = Zpos 175107974924611%positive
  := conj hidden_different (conj hidden_least hidden_modulus).

(* HIDE-2. Every row of the table satisfies the condition, with Delta = 4096. hidden_condition is
   tau^2 = s and v_j = u_j tau mod L, abs(u_1 v_2 - u_2 v_1) = L, 1 < s, 2 B^2 < s, and for j = 1, 2
   abs(u_j) (B^2 + s (75/8) R) + abs(v_j) ((R + 75/8) B + Delta) <= (L-1)/2, with both sides times
   8 64 and the least integer that is at least 64 sqrt(R^2) in the place of 64 R. *)
Definition claim_hidden_table :
  forall row, List.In row hidden_table -> hidden_condition (modulus hidden) 4096 (width_of row)
  := HIDE_2_table.

(* HIDE-2. Every tau of the table is a unit mod L, as the simulation theorem asks. *)
Definition claim_hidden_units :
  forall row, List.In row hidden_table -> coprime (small_root (width_of row)) (modulus hidden)
  := HIDE_2_units.

(* HIDE-2. By Cauchy-Schwarz abs(W'_i q) <= B^2 and abs(E_i q) <= R B, for rows of W' and columns of q
   of a norm of at most B, and rows of E of at most R. *)
Definition claim_hidden_norms :
  forall (w : hidden_width) (M n b : nat) (W E : 'M[int]_(M, n)) (q : 'M[int]_(n, b)),
  (forall i, (row_squares W i <= norm w ^ 2)%N) -> (forall i, (row_squares E i <= row_square w)%N) ->
  within (norm w) q ->
  forall i c, (absz ((W *m q) i c) <= norm w ^ 2)%N /\
              (64 * absz ((E *m q) i c) <= scaled_root w * norm w)%N
  := HIDE_2_norms.

(* HIDE-2. Where the sum u s E_i e + v W'_i e is within its bound, the condition keeps u Z + v B in the
   range of the lift, with an error of at most Delta in B. *)
Definition claim_hidden_range :
  forall (L Delta : nat) (w : hidden_width) (M n b : nat) (W E : 'M[int]_(M, n))
         (q e : 'M[int]_(n, b)), (1 < L)%N ->
  (forall i, (row_squares W i <= norm w ^ 2)%N) -> (forall i, (row_squares E i <= row_square w)%N) ->
  within (norm w) q ->
  forall (u v : int) (delta : 'M[int]_(M, b)) i c,
  fits L Delta w u v -> tail_within w u v W E e -> at_most Delta delta ->
  - (L./2)%:Z <= u * (W *m q + (small w)%:Z *: (E *m e)) i c + v * (E *m q + W *m e - delta) i c
    <= ((L.-1)./2)%:Z
  := HIDE_2_equation.

(* HIDE-4. V^T y by the products of the ring, sum_l V[b][l] y[l], is the product with V^T written out:
   entry (b N + a, l N + t) is coefficient a - t of V[b][l], or minus coefficient N + a - t. *)
Definition claim_hidden_secret :
  forall (d N : nat) (R : comRingType) (M b : nat) (V : nat -> 'M[R]_(d, N)) (y : 'M[R]_(d * N, b)),
  (0 < N)%N -> times_secret M V y = written_out M V *m y
  := HIDE_4_written_out.

(* HIDE-1, HIDE-4. What is left of the right reply for W_t = [V^T U + W' + tau E ; U] and
   x~ = q + (coefficient i of T S) + tau e, less the cancellation: Z + tau B mod L with
   Z = W' q + s E e and B = E q + W' e, less the errors of V^T y_U and of the cancellation. It holds
   for all U, V, T and S. *)
Definition claim_hidden_reply :
  forall L tau M n d N : nat, (1 < L)%N -> (0 < N)%N ->
  forall (W E : 'M[int]_(M, n)) (V : nat -> 'M[int]_(d, N)) (U : 'M['Z_L]_(d * N, n)) (N' d' s : nat)
         (T : 'M['rV['Z_L]_N']_(n, d')) (S : 'M[int]_(d', N')) (e : 'M[int]_(n, N'))
         (delta' : 'M[int]_(M, N')) (i : 'I_N') (q : 'cV[int]_n) (delta : 'cV[int]_M),
  (tau ^ 2 = s %[mod L])%N ->
  remove tau V (davids_weights tau W E V U *m mask q (col i (lattice_masks tau T S e))) delta
    - col i (lattice_cancellations tau (noisy tau W E) T S delta')
  = embed_mx L (W *m q + s%:Z *: (E *m col i e))
    + embed L tau *: embed_mx L (E *m q + W *m col i e - (delta + col i delta'))
  := HIDE_4_removed.

(* HIDE-5. For a residue Z + tau B with abs(u_j) abs(Z) + abs(v_j) abs(B) <= (L-1)/2: the lifts of its
   multiples by u_j are u_j Z + v_j B over the integers, the quotient is Z, no other Z' and B' within
   the same bounds have the residue, and if Z is p mod s for a p with 2 abs(p) < s, p is decoded. *)
Definition claim_hidden_decoding :
  forall (L : nat) (w : hidden_width), (1 < L)%N -> basis L w ->
  forall Z B : int, let Y := embed L Z + embed L (small_root w) * embed L B in
  equations_fit L w Z B ->
  [/\ lift (embed L (u_1 w) * Y) = u_1 w * Z + v_1 w * B,
      lift (embed L (u_2 w) * Y) = u_2 w * Z + v_2 w * B,
      ((v_2 w * lift (embed L (u_1 w) * Y) - v_1 w * lift (embed L (u_2 w) * Y))
         %/ (u_1 w * v_2 w - u_2 w * v_1 w))%Z = Z,
      forall Z' B' : int, equations_fit L w Z' B' ->
        embed L Z' + embed L (small_root w) * embed L B' = Y -> Z' = Z /\ B' = B
    & forall p x : int, (1 < small w)%N -> Z = p + (small w)%:Z * x -> (2 * absz p < small w)%N ->
        decode w Y = p]
  := HIDE_5_decoding.

(* HIDE-5. The division leaves no remainder, whatever the residue is. *)
Definition claim_hidden_division :
  forall (L : nat) (w : hidden_width), (1 < L)%N -> basis L w -> forall Y : 'Z_L,
  (u_1 w * v_2 w - u_2 w * v_1 w
     %| v_2 w * lift (embed L (u_1 w) * Y) - v_1 w * lift (embed L (u_2 w) * Y))%Z
  := HIDE_5_divisible.

(* HIDE-1, HIDE-2, HIDE-4, HIDE-5. The product of a message that takes mask i of a block is W' q,
   exactly: for all U, V, T and S, and all E, e and errors within the bounds. The sums in e are
   hypotheses here, as the rows of E are. *)
Definition claim_hidden_exact :
  forall (L Delta : nat) (w : hidden_width) (M n d N : nat) (W E : 'M[int]_(M, n))
         (V : nat -> 'M[int]_(d, N)) (U : 'M['Z_L]_(d * N, n)),
  (1 < L)%N -> (0 < N)%N -> hidden_condition L Delta w ->
  (forall i, (row_squares W i <= norm w ^ 2)%N) -> (forall i, (row_squares E i <= row_square w)%N) ->
  forall (N' d' : nat) (T : 'M['rV['Z_L]_N']_(n, d')) (S : 'M[int]_(d', N')) (e : 'M[int]_(n, N'))
         (delta' : 'M[int]_(M, N')) (i : 'I_N') (q : 'cV[int]_n) (delta : 'cV[int]_M),
  within (norm w) q -> tail_within w (u_1 w) (v_1 w) W E (col i e) ->
  tail_within w (u_2 w) (v_2 w) W E (col i e) -> at_most Delta (delta + col i delta') ->
  hidden_unmask w
      (remove (small_root w) V
         (davids_weights (small_root w) W E V U
            *m mask q (col i (lattice_masks (small_root w) T S e))) delta)
      (col i (lattice_cancellations (small_root w) (noisy (small_root w) W E) T S delta'))
    = W *m q
  := HIDE_5_exact.

(* THREAT-1, HIDE-1, HIDE-6. The simulation theorem with the hidden split, for the sessions of
   claim_lattice_simulation. T and U are uniform, one for each width, and public. W' is fixed, so the
   environment, the program and J may know it; they are given T and David's matrices W_t, U among their
   rows. V, E, and the secrets and noises of masks are drawn from chi_S and chi_e, any laws, for each
   block of N rows of a group, and of N masks. Errors of V^T y_U (slip) and of cancellations (error) may
   depend on all that is drawn but w.

   In the ideal the rows A of David's matrices are uniform and independent of W', messages are uniform
   residues, and outputs are those of the products W' q, or absent: hidden_factors makes padded (W' q),
   which is W' q above ell rows of zeros, the unsplit product of Session.v. The difference is at most
   Q least^-kappa; the probability that a row of some E is longer than R or a sum in some e beyond its
   bound; and the advantages of a machine for each block of masks and of one for each block of rows in
   the game of Module-LWE. That the machines' coins are probability spaces is part of the claim. *)
Definition claim_hidden_simulation :
  forall (K : finType) (width : K -> nat) (G : finType) (input : G -> K) (M : G -> nat)
         (In Out : Type) (h : nat) (primes : 'I_h -> nat) (R kappa N d : nat)
         (form : K -> hidden_width) (W : forall g, 'M[int]_(M g, group_width width input g))
         (rows blocks : G -> nat) (Secret : finType) (Noise : K -> finType)
         (secret : Secret -> 'M[int]_(d, N)) (noise : forall k, Noise k -> 'M[int]_(width k, N))
         (chi_S : Secret -> rat) (chi_e : forall k, Noise k -> rat),
  (0 < N)%N -> (forall g, (M g <= rows g * N)%N) -> different_primes primes ->
  forall slack error_bound : G -> nat,
  (forall g, hidden_condition (modulus primes) (slack g + error_bound g) (form (input g))) ->
  (forall g i, (row_squares (W g) i <= norm (form (input g)) ^ 2)%N) ->
  let publics := public_family (modulus primes) N d width in
  let David := weights width input M primes N d in
  let row_samples := sample_family (modulus primes) N width (@kind_of K G input rows) in
  let row_coins := coin_family (@kind_of K G input rows) Secret Noise in
  let mask_coins := coin_family (@kind_of K G input blocks) Secret Noise in
  let n := group_width width input in
  forall (Omega : finType) (mu : Omega -> rat)
         (e : Omega -> publics -> David -> environment (reply_rows M N d) n In Out primes)
         (p : Omega -> publics -> David -> lattice_program (reply_rows M N d) n In Out blocks N)
         (Q : nat)
         (J : Omega -> publics -> David -> transcript (reply_rows M N d) n In Out primes -> bool)
         (error : Omega -> publics -> row_coins -> publics -> mask_coins ->
                  forall j : block blocks, 'M[int]_(M (tag j), N))
         (slip : Omega -> publics -> row_coins -> publics -> mask_coins ->
                 forall g b, 'M['Z_(modulus primes)]_(reply_rows M N d g, b) -> 'M[int]_(M g, b)),
  distribution mu -> distribution chi_S -> (forall k, distribution (@chi_e k)) ->
  (forall k, coprime (small_root (form k)) (modulus primes)) ->
  (forall o U v T z j, at_most (error_bound (tag j)) (error o U v T z j)) ->
  (forall o U v T z g b y, at_most (slack g) (@slip o U v T z g b y)) ->
  (forall o T (Wt : David), admissible 0 (as_integers Wt) (hidden_factors W Wt)
                              (fun g => norm (form (input g))) (forget (p o T Wt))) ->
  (forall o T Wt, takes_once set0 (p o T Wt)) ->
  (forall g, (reply_rows M N d g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  let row_law := @coin_law _ _ (@kind_of K G input rows) _ _ chi_S chi_e in
  let mask_law := @coin_law _ _ (@kind_of K G input blocks) _ _ chi_S chi_e in
  let honest U v := hidden_weights form W secret noise U v : David in
  let uniform_David x := uniform_weights M x.1 (x.2 : row_samples) : David in
  let mask_machine := mask_machine form W rows secret noise chi_S chi_e mu e p Q J in
  let row_machine := row_machine form W secret noise chi_S chi_e mu e p Q J in
  (forall j, distribution (@law _ _ _ _ (mask_machine j))) /\
  (forall j, distribution (@law _ _ _ _ (row_machine j))) /\
  `|Pr (independent (independent mu (independent (@uniform publics) row_law))
          (independent (@uniform publics)
             (independent mask_law (@uniform (secrets primes R kappa)))))
       (fun x => let: ((o, (U, v)), (T, (z, w))) := x in
          J o T (honest U v)
            (hidden_real form W secret noise (e o T (honest U v)) U v T z (error o U v T z)
               (@slip o U v T z) w Q (p o T (honest U v))))
    - chance_over (independent mu (independent (@uniform publics)
                     (independent (@uniform publics) (@uniform row_samples))))
        (fun x => let Wt := uniform_David x.2.2 in
           ideal_run 0 (as_integers Wt) (blind primes (as_integers Wt)) (e x.1 x.2.1 Wt)
             (hidden_factors W Wt) Q (forget (p x.1 x.2.1 Wt)))
        (fun r => J r.1.1 r.1.2.1 (uniform_David r.1.2.2) r.2)|
  <= Q%:R * (least%:R ^+ kappa)^-1
     + Pr (independent row_law mask_law) (fun x => ~~ hidden_quiet form W noise x.1 x.2)
     + \sum_j advantage chi_S (@chi_e (kind_of input j)) secret (@noise (kind_of input j))
         (mask_machine j)
     + \sum_j advantage chi_S (@chi_e (kind_of input j)) secret (@noise (kind_of input j))
         (row_machine j)
  := HIDE_6_simulation.

(* ------------------------------------------------------------------------------ floating point *)

(* MASK-7. The ring products of optimized/masks, in any arithmetic whose additions, products and fused
   operations have a relative error of at most u, with roots that are off by at most rho. kappa bounds
   the relative error of a complex product, f that of the sum at a point, of d products. The sum is one
   of four there. Each coefficient is off by at most the factor times sum_l |A_l| |S_l|, 2-norms of the
   elements. *)
Definition claim_float_product :
  forall (C : numClosedFieldType) (g u kappa rho f : C) (table : nat -> C),
  g ^+ 128 = 'i -> 0 <= u -> 0 <= kappa -> 0 <= rho -> 0 <= f ->
  16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2 -> (forall e, `|table e - g ^+ e| <= rho) ->
  forall (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : 'I_d -> C),
  2%:R * ((1 + u) ^+ d.+1 - 1) ^+ 2 <= f ^+ 2 ->
  (forall l, 0 <= A_norm l) -> (forall l, 0 <= S_norm l) ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm l ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm l ^+ 2) ->
  forall y : nat -> C, float_product (rounded u) table (point_by_four_sums (rounded u)) A S y ->
  forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= (((1 + kappa) * (1 + rho)) ^+ 12 * (1 + u) ^+ 21 * (1 + f) - 1) * \sum_l A_norm l * S_norm l
  := float_product_error.

(* HIDE-4. The same of V^T y, where 2 d products of a point are added to one sum. *)
Definition claim_float_small_product :
  forall (C : numClosedFieldType) (g u kappa rho f : C) (table : nat -> C),
  g ^+ 128 = 'i -> 0 <= u -> 0 <= kappa -> 0 <= rho -> 0 <= f ->
  16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2 -> (forall e, `|table e - g ^+ e| <= rho) ->
  forall (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : 'I_d -> C),
  2%:R * ((1 + u) ^+ (2 * d) - 1) ^+ 2 <= f ^+ 2 ->
  (forall l, 0 <= A_norm l) -> (forall l, 0 <= S_norm l) ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm l ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm l ^+ 2) ->
  forall y : nat -> C, float_product (rounded u) table (point_by_two_sums (rounded u)) A S y ->
  forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= (((1 + kappa) * (1 + rho)) ^+ 12 * (1 + u) ^+ 21 * (1 + f) - 1) * \sum_l A_norm l * S_norm l
  := float_small_product_error.

(* MASK-7. In numbers: u = 2^-53 and the parameter sets. Of halves, of at most 25 bits, in masks the
   integers nearest to the results are the product. *)
Definition claim_float_exact :
  forall (C : numClosedFieldType) (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256)
    (y : nat -> C),
  roots_within (roundoff C) g table -> (d <= 16)%N ->
  magnitudes_at_most (2 ^ 24) A -> magnitudes_at_most 2 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 0 A S y
  := exact_products.

(* MASK-7. Of centred residues, in cancellations with the set `lattice`, they are off by at most 12. *)
Definition claim_float_approximate :
  forall (C : numClosedFieldType) (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256)
    (y : nat -> C),
  roots_within (roundoff C) g table -> (d <= 8)%N ->
  magnitudes_at_most 385700385296 A -> magnitudes_at_most 2 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 12 A S y
  := approximate_products.

(* HIDE-4. Of what Charlie keeps of tau^-1 H over 16, they are off by at most 100, in units of 16. *)
Definition claim_float_rounded :
  forall (C : numClosedFieldType) (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256)
    (y : nat -> C),
  roots_within (roundoff C) g table -> (d <= 9)%N ->
  magnitudes_at_most 5472124216395 A -> magnitudes_at_most 1 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 100 A S y
  := rounded_products.

(* HIDE-4. V^T y is exact. *)
Definition claim_float_small :
  forall (C : numClosedFieldType) (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256)
    (y : nat -> C),
  roots_within (roundoff C) g table -> (d <= 16)%N ->
  magnitudes_at_most (2 ^ 24) A -> magnitudes_at_most 1 S ->
  float_product (rounded (roundoff C)) table (point_by_two_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 0 A S y
  := small_products.

(* MASK-7. Arithmetic of binary64 is one of these, whichever way ties are broken: of integers and roots
   that are multiples of 2^-59 nothing is computed that is not 0 and too small for a relative error of
   2^-53. That nothing is 2^1024 or more is not part of it. *)
Definition claim_float_binary64 :
  forall (C : numClosedFieldType) (table : nat -> C), (forall e, parts_multiple 59 (table e)) ->
  forall (d : nat) (A S : 'I_d -> 'rV[int]_256) (y : nat -> C),
  float_product (@binary64 C) table (point_by_four_sums (@binary64 C))
    (in_field C A) (in_field C S) y ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y
  := binary64_four_sums.

(* HIDE-4. The same of V^T y. *)
Definition claim_float_small_binary64 :
  forall (C : numClosedFieldType) (table : nat -> C), (forall e, parts_multiple 59 (table e)) ->
  forall (d : nat) (A S : 'I_d -> 'rV[int]_256) (y : nat -> C),
  float_product (@binary64 C) table (point_by_two_sums (@binary64 C))
    (in_field C A) (in_field C S) y ->
  float_product (rounded (roundoff C)) table (point_by_two_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y
  := binary64_two_sums.

(* -------------------------------------------------------------------------------- executable *)
(* Each function that proofs/oracle compares with the reference is the definition that the claims
   speak of, entry by entry. residue_Z, row_list, column_list and residues_list write entries as
   numbers of the Coq distribution. *)

(* RING-3. *)
Definition claim_executable_lift :
  forall L : nat, (1 < L)%N -> forall r : 'Z_L,
  Arithmetic.Z_of_int (lift r) = lift_Z (Z.of_nat L) (residue_Z r)
  := lift_residue.

(* MASK-2. *)
Definition claim_executable_mask :
  forall L : nat, (1 < L)%N -> forall (n b : nat) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) j c,
  residue_Z (mask q r j c) = mask_Z (Z.of_nat L) (Arithmetic.Z_of_int (q j c)) (residue_Z (r j c))
  := mask_entry.

(* LIN-1, MASK-3. *)
Definition claim_executable_product :
  forall L : nat, (1 < L)%N ->
  forall (m n b : nat) (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) i c,
  residue_Z (product W x i c) = product_Z (Z.of_nat L) (row_list W i) (residues_list x c)
  := row_product.

(* MASK-4. *)
Definition claim_executable_unmask :
  forall L : nat, (1 < L)%N -> forall (m b : nat) (y c : 'M['Z_L]_(m, b)) i j,
  Arithmetic.Z_of_int (unmask y c i j)
    = unmask_Z (Z.of_nat L) (residue_Z (y i j)) (residue_Z (c i j))
  := unmask_entry.

(* RING-5. *)
Definition claim_executable_plane :
  forall (h : nat) (p : 'I_h -> nat), different_primes p ->
  forall (i : 'I_h) (r : 'Z_(modulus p)),
  residue_Z (plane (p i) r) = plane_Z (Z.of_nat (p i)) (residue_Z r)
  := plane_entry.

(* LIN-1. The product by planes. *)
Definition claim_executable_planes :
  forall (h : nat) (p inv : 'I_h -> nat), different_primes p ->
  (forall i, (inv i * (modulus p %/ p i) = 1 %[mod p i])%N) ->
  forall (m n b : nat) (W : 'M[int]_(m, n)) (x : 'M['Z_(modulus p)]_(n, b)) i c,
  residue_Z (product W x i c)
    = plane_product_Z (Z.of_nat (modulus p))
        (List.map (fun k => (Z.of_nat (p k), Z.of_nat (inv k))) (enum 'I_h))
        (row_list W i) (residues_list x c)
  := plane_product_entry.

(* INTEG-2. *)
Definition claim_executable_companion :
  forall L : nat, (1 < L)%N ->
  forall (m n kappa : nat) (rho : 'M['Z_L]_(m, kappa)) (W : 'M[int]_(m, n)) k j,
  residue_Z (companion rho (embed_mx L W) k j)
    = product_Z (Z.of_nat L) (residues_list rho k) (column_list W j)
  := companion_entry.

(* INTEG-3. *)
Definition claim_executable_accepts :
  forall L : nat, (1 < L)%N ->
  forall (m n b kappa : nat) (rho : 'M['Z_L]_(m, kappa)) (s : 'M['Z_L]_(kappa, n))
         (x : 'M['Z_L]_(n, b)) (y : 'M['Z_L]_(m, b)),
  accepts rho s x y
    = [forall k, forall c, accepts_Z (Z.of_nat L) (residues_list rho k)
         (List.map (fun j => residue_Z (s k j)) (enum 'I_n)) (residues_list x c)
         (residues_list y c)]
  := accepts_entries.

(* LIN-2. *)
Definition claim_executable_sum :
  forall (t m n k b : nat) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n)) (u : 'M[int]_(m, b))
         (q : 'M[int]_(n, b)) i c,
  Arithmetic.Z_of_int (charlie_sum t A B u q i c)
    = charlie_Z (Z.of_nat t) (Arithmetic.Z_of_int (u i c)) (row_list A i)
        (List.map (fun l => dot (row_list B l) (column_list q c)) (enum 'I_k))
  := charlie_entry.

(* RAND-2. *)
Definition claim_executable_sampler :
  forall L : nat, (1 < L)%N -> forall (e : nat) (words : seq nat),
  List.map Z.of_nat (sampler e L words)
    = sampler_Z (Z.of_nat e) (Z.of_nat L) (List.map Z.of_nat words)
  := sampler_list.
