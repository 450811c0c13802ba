(* Sessions with the hidden split: the protocol of LatticeSession.v, where David holds W_t, which
   looks uniform to whoever cannot decide Module-LWE, even if he knows the model. Chapters: hiding,
   threat-model.

   Nothing is assumed of Module-LWE. The theorem names a machine for each block of masks and for each
   block of rows, and counts its advantage. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Planes Integrity Model Session.
From SLIP Require Import Averages Lattice LatticeSession Hiding.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ----------------------------------------------------------------------- families of samples *)
(* Blocks of several widths, with one public matrix for each width; any test of all of them. *)
Section Samples.
Variables (L N d : nat) (K : finType) (width tau : K -> nat) (block : finType) (kind : block -> K).
Variables (Secret : finType) (Noise : K -> finType).
Variables (secret : Secret -> 'M[int]_(d, N)).
Variables (noise : forall k, Noise k -> 'M[int]_(width k, N)).
Variables (chi_S : Secret -> rat) (chi_e : forall k, Noise k -> rat).
Notation matrix k := [finType of 'M['rV['Z_L]_N]_(width k, d)].
Notation vector k := [finType of 'M['Z_L]_(width k, N)].

Definition public_family : finType := [finType of {dffun forall k : K, matrix k}].
Definition sample_family : finType := [finType of {dffun forall j : block, vector (kind j)}].
Definition coin_family : finType :=
  [finType of {dffun forall j : block, [finType of Secret * Noise (kind j)]}].

(* Secrets and noises are drawn independently for each block. *)
Definition coin_law (z : coin_family) : rat := \prod_j independent chi_S (@chi_e (kind j)) (z j).

(* T S + tau e for each block. *)
Definition samples_of (T : public_family) (z : coin_family) : sample_family :=
  [ffun j => lattice_masks (tau (kind j)) (T (kind j)) (secret (z j).1) (noise (z j).2)].

(* Those of u for the first i blocks, those of r for the others. *)
Definition first_of (i : nat) (u r : sample_family) : sample_family :=
  [ffun j => if (enum_rank j < i)%N then u j else r j].

Variables (Omega : finType) (mu : Omega -> rat).
Variable test : Omega -> public_family -> sample_family -> bool.

(* The machine of block j: it publishes tau times the matrix it is given, takes tau times the vector
   for the sample of block j, uniform ones for the blocks before and honest ones after, and runs the
   test once. *)
Definition tester (j : block) : distinguisher L N (width (kind j)) d :=
  @Distinguisher L N (width (kind j)) d
    [finType of (Omega * public_family) * (coin_family * sample_family)]
    (independent (independent mu (@uniform public_family))
                 (independent coin_law (@uniform sample_family)))
    (fun c matrix vector =>
       let T : public_family := [ffun k => replace c.1.2 (scale (embed L (tau (kind j))) matrix) k] in
       let P := first_of (enum_rank j) c.2.2 (samples_of T c.2.1) in
       test c.1.1 T [ffun i => replace P (embed L (tau (kind j)) *: vector) i]).

Hypothesis mu_dist : distribution mu.
Hypotheses (chi_S_dist : distribution chi_S) (chi_e_dist : forall k, distribution (@chi_e k)).
Hypotheses (L_gt1 : (1 < L)%N) (tau_unit : forall k, coprime (tau k) L).

Lemma coin_law_distribution : distribution coin_law.
Proof.
apply: (@product_distribution block _ (fun j => independent chi_S (@chi_e (kind j)))) => j.
exact: independent_distribution.
Qed.

Lemma public_distribution : distribution (@uniform public_family).
Proof. by apply/uniform_distribution/card_gt0P; exists [ffun k => 0]. Qed.

Lemma sample_distribution : distribution (@uniform sample_family).
Proof. by apply/uniform_distribution/card_gt0P; exists [ffun j => 0]. Qed.

Lemma tester_law j : distribution (@law _ _ _ _ (tester j)).
Proof.
apply: independent_distribution; apply: independent_distribution => //.
- exact: public_distribution.
- exact: coin_law_distribution.
exact: sample_distribution.
Qed.

Let said (o : Omega) (T : public_family) (P : sample_family) : rat := (test o T P)%:R.
Let hybrid (i : nat) : rat :=
  mean mu (fun o => mean (@uniform public_family) (fun T => mean coin_law (fun z =>
    mean (@uniform sample_family) (fun u => said o T (first_of i u (samples_of T z)))))).

Lemma unit_tau k : embed L (tau k) \is a GRing.unit.
Proof. by rewrite /embed -pmulrn unitZpE // coprime_sym. Qed.

Lemma scaled_matrix_bijective k : bijective (fun T : matrix k => scale (embed L (tau k)) T).
Proof.
have u := unit_tau k; exists (fun T : matrix k => scale (embed L (tau k))^-1 T) => T;
  apply/matrixP => i l; by rewrite !mxE scalerA ?mulVr ?mulrV // scale1r.
Qed.

Lemma scaled_vector_bijective k : bijective (fun B : vector k => embed L (tau k) *: B).
Proof.
have u := unit_tau k; exists (fun B : vector k => (embed L (tau k))^-1 *: B) => B;
  by rewrite scalerA ?mulVr ?mulrV // scale1r.
Qed.

Lemma samples_replace (j : block) (T : public_family) (z : coin_family) (u : sample_family)
    (T' : matrix (kind j)) (x : Secret * Noise (kind j)) :
  let T1 : public_family := [ffun k => replace T (scale (embed L (tau (kind j))) T') k] in
  [ffun i => replace (first_of (enum_rank j) u (samples_of T1 z))
               (embed L (tau (kind j)) *: mlwe_sample secret (@noise (kind j)) T' x.1 x.2) i]
    = first_of (enum_rank j) u (samples_of T1 [ffun i => replace z x i]).
Proof.
move=> T1; apply/ffunP => i; rewrite [LHS]ffunE [RHS]ffunE; case: (eqVneq i j) => [->|i_j].
  rewrite replace_same ltnn ffunE !ffunE !replace_same /mlwe_sample /lattice_masks.
  by rewrite ring_product_scale scalerDr.
rewrite replace_other // ffunE; case: ifP => // _.
by rewrite !ffunE (replace_other (z : forall i, _) x i_j).
Qed.

Lemma first_replace (j : block) (u r : sample_family) (B : vector (kind j)) :
  [ffun i => replace (first_of (enum_rank j) u r) B i]
    = first_of (enum_rank j).+1 [ffun i => replace u B i] r.
Proof.
apply/ffunP => i; rewrite [LHS]ffunE [RHS]ffunE; case: (eqVneq i j) => [->|i_j].
  by rewrite ltnSn ffunE !replace_same.
rewrite replace_other // [LHS]ffunE ltnS (leq_eqVlt (enum_rank i)).
case: eqP => [/val_inj/enum_rank_inj e_ij|_]; first by rewrite e_ij eqxx in i_j.
by rewrite /=; case: ifP => // _; rewrite ffunE replace_other.
Qed.

Lemma tester_sample (j : block) : let D := tester j in
  Pr (independent (@law _ _ _ _ D) (independent (@uniform (matrix (kind j)))
                              (independent chi_S (@chi_e (kind j)))))
     (fun z => answer z.1 z.2.1 (mlwe_sample secret (@noise _) z.2.1 z.2.2.1 z.2.2.2))
    = hybrid (enum_rank j).
Proof.
move=> D; set k := kind j.
have samples_dist := independent_distribution chi_S_dist (chi_e_dist k).
have matrix_gt0 : (0 < #|matrix k|)%N by apply/card_gt0P; exists 0.
rewrite Pr_mean mean_independent /D /tester /= mean_independent /= mean_independent.
apply: eq_mean => o.
pose publish (T : public_family) (T' : matrix k) : public_family :=
  [ffun k => replace T (scale (embed L (tau (kind j))) T') k].
pose H T T' (z : coin_family) (x : Secret * Noise k) u : rat := said o (publish T T')
  (first_of (enum_rank j) u (samples_of (publish T T') [ffun i => replace z x i])).
transitivity (mean (@uniform public_family) (fun T => mean (@uniform (matrix k)) (fun T' =>
    mean (independent chi_S (@chi_e k)) (fun x => mean coin_law (fun z =>
      mean (@uniform sample_family) (fun u => H T T' z x u)))))).
  apply: eq_mean => T; rewrite mean_independent.
  transitivity (mean coin_law (fun z => mean (@uniform (matrix k)) (fun T' =>
      mean (independent chi_S (@chi_e k)) (fun x => mean (@uniform sample_family)
        (fun u => H T T' z x u))))).
    apply: eq_mean => z; rewrite [LHS]mean_swap [LHS]mean_independent; apply: eq_mean => T'.
    apply: eq_mean => x; apply: eq_mean => u.
    exact: (congr1 (said o (publish T T')) (samples_replace T z u T' x)).
  rewrite mean_swap; apply: eq_mean => T'; exact: mean_swap.
rewrite mean_swap.
pose K1 (T : public_family) : rat := mean coin_law (fun z => mean (@uniform sample_family) (fun u =>
  said o T (first_of (enum_rank j) u (samples_of T z)))).
transitivity (mean (@uniform (matrix k)) (fun T' => mean (@uniform public_family) (fun T =>
    K1 (publish T T')))).
  apply: eq_mean => T'; apply: eq_mean => T.
  apply: (@mean_replace_product block _ j (fun i => independent chi_S (@chi_e (kind i)))
            (fun z => mean (@uniform sample_family) (fun u => said o (publish T T')
               (first_of (enum_rank j) u (samples_of (publish T T') z))))).
  by case: samples_dist.
rewrite (mean_bijection (fun T' : matrix k =>
             mean (@uniform public_family) (fun T => K1 [ffun k => replace T T' k]))
           (scaled_matrix_bijective k)).
exact: mean_replace_uniform.
Qed.

Lemma tester_uniform (j : block) : let D := tester j in
  Pr (independent (@law _ _ _ _ D) (independent (@uniform (matrix (kind j)))
                              (@uniform (vector (kind j)))))
     (fun z => answer z.1 z.2.1 z.2.2)
    = hybrid (enum_rank j).+1.
Proof.
move=> D; set k := kind j.
have matrix_gt0 : (0 < #|matrix k|)%N by apply/card_gt0P; exists 0.
have vector_gt0 : (0 < #|vector k|)%N by apply/card_gt0P; exists 0.
rewrite Pr_mean mean_independent /D /tester /= mean_independent /= mean_independent.
apply: eq_mean => o.
pose publish (T : public_family) (T' : matrix k) : public_family :=
  [ffun k => replace T (scale (embed L (tau (kind j))) T') k].
pose K1 (T : public_family) : rat := mean coin_law (fun z => mean (@uniform sample_family) (fun u =>
  said o T (first_of (enum_rank j).+1 u (samples_of T z)))).
transitivity (mean (@uniform public_family) (fun T => mean (@uniform (matrix k)) (fun T' =>
    K1 (publish T T')))).
  apply: eq_mean => T; rewrite mean_independent.
  transitivity (mean coin_law (fun z => mean (@uniform (matrix k)) (fun T' =>
      mean (@uniform sample_family) (fun u => said o (publish T T')
        (first_of (enum_rank j).+1 u (samples_of (publish T T') z)))))).
    apply: eq_mean => z; rewrite [LHS]mean_swap [LHS]mean_independent; apply: eq_mean => T'.
    pose f (B : vector k) : rat := mean (@uniform sample_family) (fun u => said o (publish T T')
      (first_of (enum_rank j).+1 [ffun i => replace u B i] (samples_of (publish T T') z))).
    transitivity (mean (@uniform (vector k)) f); last first.
      exact: (@mean_replace_uniform block _ j (fun u => said o (publish T T')
                (first_of (enum_rank j).+1 u (samples_of (publish T T') z)))).
    rewrite -(mean_bijection f (scaled_vector_bijective k)); apply: eq_mean => B.
    apply: eq_mean => u.
    exact: (congr1 (said o (publish T T')) (first_replace u (samples_of (publish T T') z) _)).
  by rewrite mean_swap; apply: eq_mean => T'.
rewrite mean_swap.
rewrite (mean_bijection (fun T' : matrix k =>
             mean (@uniform public_family) (fun T => K1 [ffun k => replace T T' k]))
           (scaled_matrix_bijective k)).
exact: mean_replace_uniform.
Qed.

(* Samples and uniform vectors: the difference is at most the sum of the machines' advantages. *)
Theorem samples_close :
  `|Pr (independent mu (independent (@uniform public_family) coin_law))
       (fun x => test x.1 x.2.1 (samples_of x.2.1 x.2.2))
    - Pr (independent mu (independent (@uniform public_family) (@uniform sample_family)))
         (fun x => test x.1 x.2.1 x.2.2)|
  <= \sum_j advantage chi_S (@chi_e (kind j)) secret (@noise (kind j)) (tester j).
Proof.
have -> : Pr (independent mu (independent (@uniform public_family) coin_law))
    (fun x => test x.1 x.2.1 (samples_of x.2.1 x.2.2)) = hybrid 0.
  rewrite Pr_mean mean_independent; apply: eq_mean => o; rewrite mean_independent.
  apply: eq_mean => T; apply: eq_mean => z.
  rewrite [RHS](_ : _ = mean (@uniform sample_family) (fun=> said o T (samples_of T z))).
    by rewrite mean_const //; apply: sample_distribution.
  by apply: eq_mean => u; congr said; apply/ffunP => j; rewrite ffunE ltn0.
have -> : Pr (independent mu (independent (@uniform public_family) (@uniform sample_family)))
    (fun x => test x.1 x.2.1 x.2.2) = hybrid #|block|.
  rewrite Pr_mean mean_independent; apply: eq_mean => o; rewrite mean_independent.
  apply: eq_mean => T.
  rewrite [RHS](_ : _ = mean coin_law (fun=> mean (@uniform sample_family) (fun u => said o T u))).
    by rewrite mean_const //; apply: coin_law_distribution.
  apply: eq_mean => z; apply: eq_mean => u; congr said; apply/ffunP => j.
  by rewrite ffunE ltn_ord.
apply: le_trans (telescope hybrid _) _.
rewrite [X in _ <= X](reindex (@enum_val block block)) /=; last first.
  exact/onW_bij/enum_val_bij.
apply: ler_sum => i _; have := tester_sample (enum_val i); have := tester_uniform (enum_val i).
by rewrite /advantage enum_valK => -> ->.
Qed.
End Samples.

(* ------------------------------------------------------------------------------------ sessions *)
Section Sessions.
Variables (K : finType) (width : K -> nat) (G : finType) (input : G -> K) (M : G -> nat).
Variables (In Out : Type) (h : nat) (primes : 'I_h -> nat) (R kappa N d : nat).
Variable form : K -> hidden_width.
Notation n := (group_width width input).
Variable W : forall g, 'M[int]_(M g, n g).
(* Group g has rows g blocks of N rows, and blocks g blocks of N masks. *)
Variables (rows blocks : G -> nat).
Variables (Secret : finType) (Noise : K -> finType).
Variables (secret : Secret -> 'M[int]_(d, N)).
Variables (noise : forall k, Noise k -> 'M[int]_(width k, N)).
Variables (chi_S : Secret -> rat) (chi_e : forall k, Noise k -> rat).

Notation L := (modulus primes).
Notation tau := (fun k : K => small_root (form k)).
Definition reply_rows (g : G) : nat := (M g + d * N)%N.
Definition kind_of (m : G -> nat) (j : block m) : K := input (tag j).

Notation publics := (public_family L N d width).
Notation row_samples := (sample_family L N width (@kind_of rows)).
Notation mask_samples := (sample_family L N width (@kind_of blocks)).
Notation row_coins := (coin_family (@kind_of rows) Secret Noise).
Notation mask_coins := (coin_family (@kind_of blocks) Secret Noise).
Notation samples := (samples_of tau secret noise).
Notation program := (@lattice_program G reply_rows n In Out blocks N).
Notation environment := (@environment G reply_rows n In Out h primes).
Notation transcript := (@transcript G reply_rows n In Out h primes).
Notation mask_index := (mask_index blocks N).

(* David's matrices. *)
Definition weights : finType :=
  [finType of {dffun forall g : G, [finType of 'M['Z_L]_(reply_rows g, n g)]}].

(* Row i of a group is row i mod N of block floor(i / N). *)
Definition group_rows (P : row_samples) g : 'M['Z_L]_(M g, n g) :=
  \matrix_(i, j) if (insub (i %/ N)%N : option 'I_(rows g)) is Some b
                 then (rVpoly (row j (P (Tagged (fun g => 'I_(rows g)) b) : 'M_(n g, N))))`_(i %% N)
                 else 0.
Definition public_rows (U : publics) g : 'M['Z_L]_(d * N, n g) :=
  \matrix_(k, j) (U (input g) j (element_of k)) 0 (coefficient_of k).

(* V and E of a group. *)
Definition secret_of (v : row_coins) (g : G) (b : nat) : 'M[int]_(d, N) :=
  if (insub b : option 'I_(rows g)) is Some b'
  then secret (v (Tagged (fun g => 'I_(rows g)) b')).1 else 0.
Definition error_of (v : row_coins) g : 'M[int]_(M g, n g) :=
  \matrix_(i, j) if (insub (i %/ N)%N : option 'I_(rows g)) is Some b
                 then (rVpoly (row j (noise (v (Tagged (fun g => 'I_(rows g)) b)).2
                                        : 'M_(n g, N))))`_(i %% N)
                 else 0.

(* W_t, and a matrix of uniform rows. *)
Definition hidden_weights (U : publics) (v : row_coins) : weights :=
  [ffun g => davids_weights (tau (input g)) (W g) (error_of v g) (secret_of v g) (public_rows U g)].
Definition uniform_weights (U : publics) (P : row_samples) : weights :=
  [ffun g => col_mx (group_rows P g) (public_rows U g)].

(* As matrices of integers, for the check of Session.v. *)
Definition as_integers (Wt : weights) g : 'M[int]_(reply_rows g, n g) := lift_mx (Wt g).

(* Products have ell rows of zeros below: Session.v gives a product as many rows as a reply has. *)
Definition padded g b (y : 'M[int]_(M g, b)) : 'M[int]_(reply_rows g, b) := col_mx y 0.

(* The product by decoding. V^T y_U and cancellations may be off by tau times slip and delta. *)
Definition hidden_cancellations (T : publics) (v : row_coins) (z : mask_coins)
    (delta : forall j : block blocks, 'M[int]_(M (tag j), N)) (j : block blocks) :
    'M['Z_L]_(M (tag j), N) :=
  lattice_cancellations (tau (input (tag j)))
    (noisy (tau (input (tag j))) (W (tag j)) (error_of v (tag j))) (T (input (tag j)))
    (secret (z j).1) (delta j).
Definition decoded_product (v : row_coins) (c : forall j : block blocks, 'M['Z_L]_(M (tag j), N))
    (slip : forall g b, 'M['Z_L]_(reply_rows g, b) -> 'M[int]_(M g, b)) g b
    (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b)) (y : 'M['Z_L]_(reply_rows g, b)) :
    'M[int]_(reply_rows g, b) :=
  padded (hidden_unmask (form (input g))
            (remove (tau (input g)) (secret_of v g) y (slip g b y)) (taken c s)).
Definition integer_product g b (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b))
    (y : 'M['Z_L]_(reply_rows g, b)) : 'M[int]_(reply_rows g, b) := padded (W g *m q).

(* The protocol. *)
Definition hidden_real (e : environment) (U : publics) (v : row_coins) (T : publics)
    (z : mask_coins) (delta : forall j : block blocks, 'M[int]_(M (tag j), N))
    (slip : forall g b, 'M['Z_L]_(reply_rows g, b) -> 'M[int]_(M g, b))
    (w : secrets primes R kappa) (Q : nat) (p : program) : transcript :=
  lattice_run (verdict (as_integers (hidden_weights U v)) w)
    (decoded_product v (hidden_cancellations T v z delta) slip) e (samples T z) Q [::] p.

(* Replies judged by whether they are right, products of the integer model, any matrix and masks. *)
Definition hidden_judged (e : environment) (Wt : weights) (P : mask_samples) (Q : nat)
    (p : program) : transcript :=
  lattice_run (fun x y => y == right (as_integers Wt) x) integer_product e P Q [::] p.

(* What makes the unsplit product of Session.v the padded product with W': 2^0 W_t + (W' - W_t) 1. *)
Definition hidden_factors (Wt : weights) : factors reply_rows n :=
  Factors (fun g => padded (W g) - as_integers Wt g) (fun g => 1%:M).

(* No row of E is longer than R, and no sum in e is beyond its bound. *)
Definition hidden_quiet (v : row_coins) (z : mask_coins) : bool :=
  [forall g, forall i, (row_squares (error_of v g) i <= row_square (form (input g)))%N]
  && [forall j : block blocks,
        let w := form (input (tag j)) in let E := error_of v (tag j) in
        tail_within w (u_1 w) (v_1 w) (W (tag j)) E (noise (z j).2)
        && tail_within w (u_2 w) (v_2 w) (W (tag j)) E (noise (z j).2)].

(* ------------------------------------------------------------------------------------ lemmas *)
Hypotheses (N_gt0 : (0 < N)%N) (M_rows : forall g, (M g <= rows g * N)%N).
Hypothesis L_primes : different_primes primes.

Lemma row_lt g (i : 'I_(M g)) : (i %/ N < rows g)%N.
Proof. by rewrite ltn_divLR //; apply: leq_trans (ltn_ord i) (M_rows g). Qed.

Lemma coefficient (S : ringType) (x : 'rV[S]_N) (i : nat) :
  (rVpoly x)`_(i %% N) = x 0 (Ordinal (ltn_pmod i N_gt0)).
Proof. by rewrite -[RHS]coef_rVpoly_ord. Qed.

Lemma elements_public (U : publics) g : elements (public_rows U g) = U (input g).
Proof.
apply/matrixP => j l; apply/rowP => t; rewrite !mxE element_of_place coefficient_of_place.
by [].
Qed.

(* Honest matrices are samples, with W' added. *)
Lemma hidden_weights_samples U v g : hidden_weights U v g
  = col_mx (group_rows (samples U v) g + embed_mx L (W g)) (public_rows U g).
Proof.
rewrite ffunE /davids_weights /hidden_rows; congr col_mx.
rewrite /noisy embed_mxD // addrCA addrC; congr (_ + _); apply/matrixP => i j.
rewrite !mxE elements_public (insubT (fun b => (b < rows g)%N) (row_lt i)) /secret_of.
rewrite (insubT (fun b => (b < rows g)%N) (row_lt i)) !coefficient !mxE ffunE /lattice_masks.
rewrite embedM !mxE; congr (_ + _).
Qed.

Lemma embed_as_integers (Wt : weights) g : embed_mx L (as_integers Wt g) = Wt g.
Proof. by apply/matrixP => i j; rewrite !mxE lift_embedK //; apply: modulus_gt1. Qed.

Lemma unsplit_hidden (Wt : weights) g b (q : 'M[int]_(n g, b)) :
  unsplit_product 0 (as_integers Wt) (hidden_factors Wt) q = padded (W g *m q).
Proof.
rewrite /unsplit_product /integer_model expr0 scale1r mulmx1 addrC subrK.
by rewrite /padded mul_col_mx mul0mx.
Qed.

Variables (slack error_bound : G -> nat).
Hypothesis condition : forall g, hidden_condition L (slack g + error_bound g) (form (input g)).
Hypothesis W_in : forall g i, (row_squares (W g) i <= norm (form (input g)) ^ 2)%N.

(* Right replies are decoded to W' q. *)
Lemma decoded_exact U v T z (delta : forall j : block blocks, 'M[int]_(M (tag j), N))
    (slip : forall g b, 'M['Z_L]_(reply_rows g, b) -> 'M[int]_(M g, b)) g b
    (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b)) :
  hidden_quiet v z -> (forall j, at_most (error_bound (tag j)) (delta j)) ->
  (forall g b y, at_most (slack g) (slip g b y)) -> within (norm (form (input g))) q ->
  decoded_product v (hidden_cancellations T v z delta) slip s q
      (product (as_integers (hidden_weights U v) g) (mask q (taken (samples T z : mask_samples) s)))
    = padded (W g *m q).
Proof.
case/andP=> /forallP/(_ g)/forallP E_in /forallP sums_in delta_in slip_in q_in.
rewrite /decoded_product /product embed_as_integers ffunE; congr padded.
pose B c : block blocks := Tagged (fun g => 'I_(blocks g)) (s c).1.
pose r0 : 'M['Z_L]_(n g, b) := \matrix_(a, c)
  (ring_product (T (input g)) (embed_mx L (secret (z (B c)).1)) : 'M_(n g, N)) a (s c).2.
pose e0 : 'M[int]_(n g, b) := \matrix_(a, c) (noise (z (B c)).2 : 'M_(n g, N)) a (s c).2.
pose d0 : 'M[int]_(M g, b) := \matrix_(a, c) (delta (B c) : 'M_(M g, N)) a (s c).2.
have L_gt1 := modulus_gt1 L_primes.
have -> : taken (samples T z : mask_samples) s = r0 + embed L (tau (input g)) *: embed_mx L e0.
  by apply/matrixP => a c; rewrite [LHS]mxE ffunE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE.
have -> : taken (hidden_cancellations T v z delta) s
    = embed_mx L (noisy (tau (input g)) (W g) (error_of v g)) *m r0
      + embed L (tau (input g)) *: embed_mx L d0.
  apply/matrixP => a c.
  rewrite [LHS]mxE /hidden_cancellations /lattice_cancellations ring_product_constant.
  rewrite [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE //.
  by apply: eq_bigr => j _; rewrite [r0 j c]mxE.
have tails u v' : (forall c : 'I_b, tail_within (form (input g)) u v' (W g) (error_of v g)
      (noise (z (B c)).2 : 'M_(n g, N))) -> tail_within (form (input g)) u v' (W g) (error_of v g) e0.
  move=> all_c; apply/forallP => k; apply/forallP => c.
  have /forallP/(_ k)/forallP/(_ (s c).2) := all_c c.
  rewrite ![(_ *m _) k _]mxE.
  rewrite [in X in _ -> X](eq_bigr (fun j => ((u * (small (form (input g)))%:Z) *: error_of v g
       + v' *: W g) k j * (noise (z (B c)).2 : 'M_(n g, N)) j (s c).2)) // => j _.
  by rewrite [e0 j c]mxE.
apply: (hidden_exact _ _ L_gt1 N_gt0 (condition g) (@W_in g) E_in).
- exact: q_in.
- by apply: tails => c; have /andP[] := sums_in (B c).
- by apply: tails => c; have /andP[] := sums_in (B c).
have add (x y : int) x' y' : (absz x <= x')%N -> (absz y <= y')%N -> (absz (x + y)%R <= x' + y')%N.
  by lia.
apply/forallP => k; apply/forallP => c; rewrite mxE [d0 k c]mxE; apply: add.
  by have /forallP/(_ k)/forallP/(_ c) := slip_in g b (davids_weights (tau (input g)) (W g)
    (error_of v g) (secret_of v g) (public_rows U g)
    *m mask q (r0 + embed L (tau (input g)) *: embed_mx L e0)).
by have /forallP/(_ k)/forallP/(_ (s c).2) := delta_in (B c).
Qed.

Notation B_q := (fun g => norm (form (input g))).

(* A run with decoded products is one with those of the model. *)
Lemma run_decoded U v T z (delta : forall j : block blocks, 'M[int]_(M (tag j), N))
    (slip : forall g b, 'M['Z_L]_(reply_rows g, b) -> 'M[int]_(M g, b)) e (P : mask_samples) Q before
    (p : program) : let Wt := hidden_weights U v in
  P = samples T z -> hidden_quiet v z -> (forall j, at_most (error_bound (tag j)) (delta j)) ->
  (forall g b y, at_most (slack g) (slip g b y)) ->
  admissible 0 (as_integers Wt) (hidden_factors Wt) B_q (forget p) ->
  lattice_run (fun x y => y == right (as_integers Wt) x)
      (decoded_product v (hidden_cancellations T v z delta) slip) e P Q before p
    = lattice_run (fun x y => y == right (as_integers Wt) x) integer_product e P Q before p.
Proof.
move=> Wt eP quiet_z delta_in slip_in.
elim: p Q before => [|g b s q next IHn broken IHb|out next IH|next IH] Q before //=.
- case=> q_in next_in broken_in; case: Q => [//|Q]; set x := Message _.
  case: (david e before x) => [y|]; last exact: IHb.
  case: eqP => [->|_]; last exact: IHb.
  have -> : decoded_product v (hidden_cancellations T v z delta) slip s q (right (as_integers Wt) x)
      = padded (W g *m q) by rewrite /x eP; apply: decoded_exact.
  by apply: IHn; rewrite -(unsplit_hidden Wt).
- by move=> in_all; apply: IH.
by move=> next_in; apply: IH.
Qed.

(* The run with products of the model is that of LatticeSession.v. *)
Lemma run_model e Wt (P : mask_samples) Q (p : program) :
  hidden_judged e Wt P Q p
    = lattice_masked 0 (as_integers Wt) e (hidden_factors Wt) P Q p.
Proof.
rewrite /hidden_judged /lattice_masked; move: [::] => before.
elim: p Q before => [|g b s q next IHn broken IHb|out next IH|next IH] Q before //=.
case: Q => [//|Q]; set x := Message _.
case: (david e before x) => [y|]; last exact: IHb.
case: ifP => _; last exact: IHb.
by rewrite {2}/model_product unsplit_hidden; apply: IHn.
Qed.

(* Adding W' to uniform rows changes nothing. *)
Definition row_shift (j : block rows) : 'M['Z_L]_(n (tag j), N) :=
  \matrix_(a, t) if insub (tagged j * N + t)%N is Some i then embed L (W (tag j) i a) else 0.
Definition shifted (P : row_samples) : row_samples := [ffun j => P j + row_shift j].

Lemma shifted_bijective : bijective shifted.
Proof.
by exists (fun P : row_samples => [ffun j => P j - row_shift j]) => P; apply/ffunP => j;
  rewrite !ffunE ?addrK ?subrK.
Qed.

Lemma group_rows_shifted P g : group_rows (shifted P) g = group_rows P g + embed_mx L (W g).
Proof.
apply/matrixP => i j; rewrite [LHS]mxE [RHS]mxE [group_rows P g i j]mxE.
rewrite (insubT (fun b => (b < rows g)%N) (row_lt i)) !coefficient !mxE ffunE !mxE.
congr (_ + _); rewrite /= -divn_eq insubT //= => i_lt.
by congr (embed L (W g _ j)); apply: val_inj.
Qed.

(* ------------------------------------------------------------------------------ the theorem *)
Section Main.
Variables (Omega : finType) (mu : Omega -> rat) (e : Omega -> publics -> weights -> environment).
Variables (p : Omega -> publics -> weights -> program) (Q : nat).
Variable J : Omega -> publics -> weights -> transcript -> bool.
Variable error : Omega -> publics -> row_coins -> publics -> mask_coins ->
  forall j : block blocks, 'M[int]_(M (tag j), N).
Variable slip : Omega -> publics -> row_coins -> publics -> mask_coins ->
  forall g b, 'M['Z_L]_(reply_rows g, b) -> 'M[int]_(M g, b).

Notation row_law := (@coin_law _ _ (@kind_of rows) _ _ chi_S chi_e).
Notation mask_law := (@coin_law _ _ (@kind_of blocks) _ _ chi_S chi_e).
Notation split_law := (independent mu (independent (@uniform publics) row_law)).

(* What J says of a run of judged replies. *)
Definition says (o : Omega) (T : publics) (Wt : weights) (P : mask_samples) : bool :=
  J o T Wt (hidden_judged (e o T Wt) Wt P Q (p o T Wt)).

(* The machines: for a block of masks with honest matrices, for a block of rows with uniform masks. *)
Definition mask_machine := @tester L N d K width tau (block blocks) (@kind_of blocks) Secret Noise
  secret noise chi_S chi_e [finType of Omega * (publics * row_coins)] split_law
  (fun o T P => says o.1 T (hidden_weights o.2.1 o.2.2) P).
Definition row_machine := @tester L N d K width tau (block rows) (@kind_of rows) Secret Noise
  secret noise chi_S chi_e [finType of Omega * (publics * mask_samples)]
  (independent mu (independent (@uniform publics) (@uniform mask_samples)))
  (fun o U P => says o.1 o.2.1 (uniform_weights U (shifted P)) o.2.2).

Hypothesis mu_dist : distribution mu.
Hypotheses (chi_S_dist : distribution chi_S) (chi_e_dist : forall k, distribution (@chi_e k)).
Hypothesis tau_unit : forall k, coprime (tau k) L.
Hypothesis error_in : forall o U v T z j, at_most (error_bound (tag j)) (error o U v T z j).
Hypothesis slip_in : forall o U v T z g b y, at_most (slack g) (@slip o U v T z g b y).
Hypothesis p_in : forall o T Wt,
  admissible 0 (as_integers Wt) (hidden_factors Wt) B_q (forget (p o T Wt)).
Hypothesis p_once : forall o T Wt, takes_once set0 (p o T Wt).
Hypothesis M_le : forall g, (reply_rows g <= R)%N.
Variable least : nat.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= primes i)%N).

Lemma weights_shifted U v : hidden_weights U v = uniform_weights U (shifted (samples U v)).
Proof. by apply/ffunP => g; rewrite hidden_weights_samples ffunE group_rows_shifted. Qed.

Theorem hidden_close :
  `|Pr (independent split_law (independent (@uniform publics)
                                 (independent mask_law (@uniform (secrets primes R kappa)))))
       (fun x => let: ((o, (U, v)), (T, (z, w))) := x in
          J o T (hidden_weights U v)
            (hidden_real (e o T (hidden_weights U v)) U v T z (error o U v T z) (@slip o U v T z) w Q
               (p o T (hidden_weights U v))))
    - chance_over (independent mu (independent (@uniform publics)
                     (independent (@uniform publics) (@uniform row_samples))))
        (fun x => let Wt := uniform_weights x.2.2.1 x.2.2.2 in
           ideal_run 0 (as_integers Wt) (blind primes (as_integers Wt)) (e x.1 x.2.1 Wt)
             (hidden_factors Wt) Q (forget (p x.1 x.2.1 Wt)))
        (fun r => J r.1.1 r.1.2.1 (uniform_weights r.1.2.2.1 r.1.2.2.2) r.2)|
  <= Q%:R * (least%:R ^+ kappa)^-1
     + Pr (independent row_law mask_law) (fun x => ~~ hidden_quiet x.1 x.2)
     + \sum_j advantage chi_S (@chi_e (kind_of j)) secret (@noise (kind_of j)) (mask_machine j)
     + \sum_j advantage chi_S (@chi_e (kind_of j)) secret (@noise (kind_of j)) (row_machine j).
Proof.
have L_gt1 := modulus_gt1 L_primes.
have U_dist : distribution (@uniform publics) := public_distribution _ _ _ _.
have r_dist : distribution row_law := coin_law_distribution _ chi_S_dist chi_e_dist.
have m_dist : distribution mask_law := coin_law_distribution _ chi_S_dist chi_e_dist.
set real := Pr _ _; set ideal := chance_over _ _ _.
pose nest (F : Omega -> publics -> row_coins -> publics -> mask_coins -> rat) : rat :=
  mean mu (fun o => mean (@uniform publics) (fun U => mean row_law (fun v =>
    mean (@uniform publics) (fun T => mean mask_law (fun z => F o U v T z))))).
pose judged := nest (fun o U v T z => let Wt := hidden_weights U v in
  (J o T Wt (lattice_run (fun x y => y == right (as_integers Wt) x)
     (decoded_product v (hidden_cancellations T v z (error o U v T z)) (@slip o U v T z))
     (e o T Wt) (samples T z) Q [::] (p o T Wt)))%:R).
pose masked := nest (fun o U v T z => (says o T (hidden_weights U v) (samples T z))%:R).
have step1 : `|real - judged| <= Q%:R * (least%:R ^+ kappa)^-1.
  rewrite /real Pr_mean mean_independent mean_independent; apply: (mean_close mu_dist) => o.
  rewrite mean_independent; apply: (mean_close U_dist) => U; apply: (mean_close r_dist) => v.
  rewrite mean_independent; apply: (mean_close U_dist) => T.
  rewrite mean_independent; apply: (mean_close m_dist) => z.
  rewrite /= /hidden_real; set Wt := hidden_weights U v.
  have := @run_checked K width G input reply_rows In Out h primes R kappa (as_integers Wt) N blocks
    L_primes M_le least least_gt0 least_le (J o T Wt).
  exact.
have step2 : `|judged - masked| <= Pr (independent row_law mask_law)
    (fun x => ~~ hidden_quiet x.1 x.2).
  apply: (mean_close mu_dist) => o; apply: (mean_close U_dist) => U.
  rewrite mean_swap [X in _ - X]mean_swap; apply: (mean_close U_dist) => T.
  have pair (f : row_coins -> mask_coins -> rat) : mean row_law (fun v => mean mask_law (f v))
      = mean (independent row_law mask_law) (fun x => f x.1 x.2) by rewrite mean_independent.
  rewrite !pair; apply: (mean_except (independent_distribution r_dist m_dist)) => [x|x|[v z]].
  - by rewrite /=; case: (J _ _ _ _).
  - by case: (says _ _ _ _).
  rewrite negbK => quiet_z; congr ((J o T _ _)%:R).
  rewrite /hidden_judged; exact: run_decoded.
pose half := Pr (independent split_law (independent (@uniform publics) (@uniform mask_samples)))
  (fun x => says x.1.1 x.2.1 (hidden_weights x.1.2.1 x.1.2.2) x.2.2).
have step3 : `|masked - half| <= \sum_j advantage chi_S (@chi_e (kind_of j)) secret
    (@noise (kind_of j)) (mask_machine j).
  have -> : masked = Pr (independent split_law (independent (@uniform publics) mask_law))
      (fun x => says x.1.1 x.2.1 (hidden_weights x.1.2.1 x.1.2.2) (samples x.2.1 x.2.2)).
    rewrite Pr_mean mean_independent mean_independent; apply: eq_mean => o.
    rewrite mean_independent; apply: eq_mean => U; apply: eq_mean => v.
    by rewrite mean_independent.
  exact: samples_close.
have step4 : `|half - ideal| <= \sum_j advantage chi_S (@chi_e (kind_of j)) secret
    (@noise (kind_of j)) (row_machine j).
  have -> : half = Pr (independent (independent mu (independent (@uniform publics)
        (@uniform mask_samples))) (independent (@uniform publics) row_law))
      (fun x => says x.1.1 x.1.2.1 (uniform_weights x.2.1 (shifted (samples x.2.1 x.2.2))) x.1.2.2).
    rewrite /half !Pr_mean !mean_independent; apply: eq_mean => o; rewrite mean_swap.
    by apply: eq_mean => y; apply: eq_mean => x; rewrite weights_shifted.
  have -> : ideal = Pr (independent (independent mu (independent (@uniform publics)
        (@uniform mask_samples))) (independent (@uniform publics) (@uniform row_samples)))
      (fun x => says x.1.1 x.1.2.1 (uniform_weights x.2.1 (shifted x.2.2)) x.1.2.2).
    rewrite /ideal chance_over_mean Pr_mean !mean_independent; apply: eq_mean => o.
    rewrite !mean_independent; apply: eq_mean => T; rewrite mean_swap mean_independent.
    rewrite mean_independent; apply: eq_mean => U /=.
    pose f P' := mean (@uniform mask_samples) (fun P => (says o T (uniform_weights U P') P)%:R : rat).
    transitivity (mean (@uniform row_samples) f).
      apply: eq_mean => P'; rewrite /f; set Wt := uniform_weights U P'.
      rewrite -(lattice_run_uniform 0 (as_integers Wt) (e o T Wt) (hidden_factors Wt) (J o T Wt) Q
                  (p_once o T Wt)).
      by apply: eq_mean => P; rewrite /says run_model.
    by rewrite -(mean_bijection f shifted_bijective).
  exact: samples_close.
rewrite -(subrKA half); apply: le_trans (ler_norm_add _ _) _; apply: ler_add step4.
rewrite -(subrKA masked); apply: le_trans (ler_norm_add _ _) _; apply: ler_add step3.
rewrite -(subrKA judged); apply: le_trans (ler_norm_add _ _) _; exact: ler_add step1 step2.
Qed.

Theorem HIDE_6_simulation :
  (forall j, distribution (@law _ _ _ _ (mask_machine j))) /\
  (forall j, distribution (@law _ _ _ _ (row_machine j))) /\
  `|Pr (independent split_law (independent (@uniform publics)
                                 (independent mask_law (@uniform (secrets primes R kappa)))))
       (fun x => let: ((o, (U, v)), (T, (z, w))) := x in
          J o T (hidden_weights U v)
            (hidden_real (e o T (hidden_weights U v)) U v T z (error o U v T z) (@slip o U v T z) w Q
               (p o T (hidden_weights U v))))
    - chance_over (independent mu (independent (@uniform publics)
                     (independent (@uniform publics) (@uniform row_samples))))
        (fun x => let Wt := uniform_weights x.2.2.1 x.2.2.2 in
           ideal_run 0 (as_integers Wt) (blind primes (as_integers Wt)) (e x.1 x.2.1 Wt)
             (hidden_factors Wt) Q (forget (p x.1 x.2.1 Wt)))
        (fun r => J r.1.1 r.1.2.1 (uniform_weights r.1.2.2.1 r.1.2.2.2) r.2)|
  <= Q%:R * (least%:R ^+ kappa)^-1
     + Pr (independent row_law mask_law) (fun x => ~~ hidden_quiet x.1 x.2)
     + \sum_j advantage chi_S (@chi_e (kind_of j)) secret (@noise (kind_of j)) (mask_machine j)
     + \sum_j advantage chi_S (@chi_e (kind_of j)) secret (@noise (kind_of j)) (row_machine j).
Proof.
have U_dist : distribution (@uniform publics) := public_distribution _ _ _ _.
have r_dist : distribution row_law := coin_law_distribution _ chi_S_dist chi_e_dist.
have p_dist : distribution (@uniform mask_samples) := sample_distribution _ _ _ _.
split; [|split; [|exact: hidden_close]] => j; apply: tester_law => //;
  by apply: independent_distribution => //; apply: independent_distribution.
Qed.
End Main.
End Sessions.
