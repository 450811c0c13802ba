(* Sessions with lattice masks: the protocol of Session.v with masks that are not uniform, but look
   uniform to whoever cannot decide Module-LWE. Chapters: masking, threat-model.

   Nothing is assumed of Module-LWE. The theorem names, for each block of masks, the machine that
   decides it if the environment can tell the protocol from the ideal, and counts its advantage. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Planes Integrity Model Session.
From SLIP Require Import Averages Lattice.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Arguments chance : simpl never.

(* ------------------------------------------------------------------------- the game MLWE *)
Section Game.
Variables (L N n d : nat) (Secret Noise : finType).
Variables (chi_S : Secret -> rat) (chi_e : Noise -> rat).
Variables (secret : Secret -> 'M[int]_(d, N)) (noise : Noise -> 'M[int]_(n, N)).
Notation matrix := [finType of 'M['rV['Z_L]_N]_(n, d)].
Notation vector := [finType of 'M['Z_L]_(n, N)].

(* It tosses its coins, and answers to a matrix of ring elements and a vector of them. *)
Record distinguisher : Type := Distinguisher {
  coins : finType;
  law : coins -> rat;
  answer : coins -> matrix -> vector -> bool
}.

(* T S + e. *)
Definition mlwe_sample (T : matrix) (s : Secret) (e : Noise) : vector :=
  ring_product T (embed_mx L (secret s)) + embed_mx L (noise e).

(* |Pr[D(T, T S + e)] - Pr[D(T, uniform)]|: T is uniform, S and e are drawn from chi_S and chi_e. *)
Definition advantage (D : distinguisher) : rat :=
  `|Pr (independent (@law D) (independent (@uniform matrix) (independent chi_S chi_e)))
       (fun z => answer z.1 z.2.1 (mlwe_sample z.2.1 z.2.2.1 z.2.2.2))
    - Pr (independent (@law D) (independent (@uniform matrix) (@uniform vector)))
         (fun z => answer z.1 z.2.1 z.2.2)|.
End Game.

(* The group's number of columns: its width. *)
Definition group_width (K G : Type) (width : K -> nat) (input : G -> K) (g : G) : nat :=
  width (input g).

Section Programs.
Variables (G : finType) (M n : G -> nat) (In Out : Type).
(* Group g has blocks g blocks of N masks. *)
Variables (blocks : G -> nat) (N : nat).

Definition block : finType := [finType of {g : G & 'I_(blocks g)}].

(* A mask of a group: its block and its index there. *)
Definition mask_index (g : G) : finType := [finType of 'I_(blocks g) * 'I_N].
Definition any_mask_index : finType := [finType of {g : G & mask_index g}].

(* A program that says as well which mask each column takes: partly used blocks, blocks of several
   groups in turn, and blocks that outlive a session are all programs. *)
Inductive lattice_program : Type :=
  | LatticeStop
  | LatticeCall (g : G) (b : nat) (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b))
                (next : 'M[int]_(M g, b) -> lattice_program) (broken : lattice_program)
  | LatticeAnswer (out : Out) (next : In -> lattice_program)
  | LatticeRenew (next : lattice_program).

(* The same program, without the choice of masks. *)
Fixpoint forget (p : lattice_program) : program M n In Out :=
  match p with
  | LatticeStop => Stop _ _ _ _
  | LatticeCall g b s q next broken => Call q (fun y => forget (next y)) (forget broken)
  | LatticeAnswer out next => Answer out (fun i => forget (next i))
  | LatticeRenew next => Renew (forget next)
  end.

(* No index is used twice, nor one of used, whatever the products and the inputs are, and wherever
   sessions break. *)
Definition indices g b (s : 'I_b -> mask_index g) : {set any_mask_index} :=
  [set Tagged (fun g => mask_index g) (s c) | c : 'I_b].
Fixpoint takes_once (used : {set any_mask_index}) (p : lattice_program) : Prop :=
  match p with
  | LatticeStop => True
  | LatticeCall g b s q next broken =>
      [/\ injective s, [disjoint indices s & used],
          forall y, takes_once (used :|: indices s) (next y)
        & takes_once (used :|: indices s) broken]
  | LatticeAnswer out next => forall i, takes_once used (next i)
  | LatticeRenew next => takes_once used next
  end.
End Programs.

Section Sessions.
(* T is drawn for each width; a group multiplies inputs of one width. *)
Variables (K : finType) (width : K -> nat) (G : finType) (input : G -> K) (M : G -> nat).
Variables (In Out : Type) (h : nat) (primes : 'I_h -> nat) (R kappa t tau : nat).
Variable W_D : forall g, 'M[int]_(M g, group_width width input g).
Variables (N d : nat) (blocks : G -> nat).
(* What secrets and noise of a block are drawn from. *)
Variables (Secret : finType) (Noise : K -> finType).
Variables (secret : Secret -> 'M[int]_(d, N)).
Variables (noise : forall k, Noise k -> 'M[int]_(width k, N)).
Variables (chi_S : Secret -> rat) (chi_e : forall k, Noise k -> rat).

Notation L := (modulus primes).
Notation n := (group_width width input).
Notation block := (block blocks).
Notation mask_index := (mask_index blocks N).
Notation any_mask_index := (any_mask_index blocks N).
Notation message := (@message h primes G n).
Notation reply x := (@reply h primes G M n x).
Notation secrets := (secrets primes R kappa).
Notation lattice_program := (@lattice_program G M n In Out blocks N).
Notation factors := (@factors G M n).
Notation environment := (@environment G M n In Out h primes).
Notation transcript := (@transcript G M n In Out h primes).
Notation right x := (@right G M n h primes W_D x).
Notation matrix k := [finType of 'M['rV['Z_L]_N]_(width k, d)].
Notation vector k := [finType of 'M['Z_L]_(width k, N)].

(* All T; all masks; all secrets and noises. *)
Definition publics : finType := [finType of {dffun forall k : K, matrix k}].
Definition pools : finType := [finType of {dffun forall j : block, vector (input (tag j))}].
Definition block_coins : finType :=
  [finType of {dffun forall j : block, [finType of Secret * Noise (input (tag j))]}].

(* They are drawn independently for each block. *)
Definition block_law (z : block_coins) : rat :=
  \prod_j independent chi_S (@chi_e (input (tag j))) (z j).

(* The masks of all blocks, and their cancellations with the errors tau delta. *)
Definition masks_of (T : publics) (z : block_coins) : pools :=
  [ffun j => lattice_masks tau (T (input (tag j))) (secret (z j).1) (noise (z j).2)].
Definition cancellations_of (T : publics) (z : block_coins)
    (delta : forall j : block, 'M[int]_(M (tag j), N)) (j : block) : 'M['Z_L]_(M (tag j), N) :=
  lattice_cancellations tau (W_D (tag j)) (T (input (tag j))) (secret (z j).1) (delta j).

(* No noise of a block is beyond the bound on any row of W_D. *)
Definition quiet (noise_bound : G -> nat) (z : block_coins) : bool :=
  [forall j : block, at_most (noise_bound (tag j)) (W_D (tag j) *m noise (z j).2)].

(* What a message takes of masks, or of cancellations. *)
Definition taken (m : G -> nat) (P : forall j : block, 'M['Z_L]_(m (tag j), N)) g b
    (s : 'I_b -> mask_index g) : 'M['Z_L]_(m g, b) :=
  \matrix_(a < m g, c < b) (P (Tagged (fun g => 'I_(blocks g)) (s c).1) : 'M_(m g, N)) a (s c).2.

(* ---------------------------------------------------------------------------------- protocol *)
(* Charlie's side, as in Session.v, with the masks P. How a reply is accepted, and what he makes of
   one that is, stands in the place of the check and of unmasking. *)
Section Run.
Variable accept : forall x : message, reply x -> bool.
Variable product_of : forall g b, ('I_b -> mask_index g) -> 'M[int]_(n g, b) -> 'M['Z_L]_(M g, b) ->
  'M[int]_(M g, b).
Variables (e : environment) (P : pools).

Fixpoint lattice_run (Q : nat) (before : transcript) (p : lattice_program) : transcript :=
  match p with
  | LatticeStop => before
  | LatticeAnswer out next =>
      let i := user e before out in lattice_run Q (rcons before (Answered _ _ _ out i)) (next i)
  | LatticeRenew next => lattice_run Q (rcons before (Renewed _ _ _ _ _)) next
  | LatticeCall g b s q next broken =>
      if Q isn't Q'.+1 then before else
      let x := @Message h primes G n g b (mask q (taken P s)) in
      match david e before x with
      | None => lattice_run Q (rcons before (Lost _ _ _ x)) broken
      | Some y =>
          if accept y
          then lattice_run Q (rcons before (Accepted _ _ y)) (next (product_of s q y))
          else lattice_run Q' (rcons before (Rejected _ _ y)) broken
      end
  end.
End Run.

(* The product by unmasking, and the unsplit model's. *)
Definition unmasked_product (C : factors) (c : forall j : block, 'M['Z_L]_(M (tag j), N)) g b
    (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b)) (y : 'M['Z_L]_(M g, b)) : 'M[int]_(M g, b) :=
  charlie_sum t (left_factor C g) (right_factor C g) (lattice_unmask tau y (taken c s)) q.
Definition model_product (C : factors) g b (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b))
    (y : 'M['Z_L]_(M g, b)) : 'M[int]_(M g, b) :=
  unsplit_product t W_D C q.

(* The protocol: lattice masks, the check, unmasking. *)
Definition lattice_real (e : environment) (C : factors) (T : publics) (z : block_coins)
    (delta : forall j : block, 'M[int]_(M (tag j), N)) (w : secrets) (Q : nat)
    (p : lattice_program) : transcript :=
  lattice_run (verdict W_D w) (unmasked_product C (cancellations_of T z delta)) e (masks_of T z) Q
              [::] p.

(* Replies are judged by whether they are right, and products are the unsplit model's: neither w nor
   the secrets of blocks are needed for it, but for the masks P. *)
Definition lattice_masked (e : environment) (C : factors) (P : pools) (Q : nat)
    (p : lattice_program) : transcript :=
  lattice_run (fun x y => y == right x) (model_product C) e P Q [::] p.

(* --------------------------------------------------------------------------------- reduction *)
Section Reduction.
Variables (Omega : finType) (mu : Omega -> rat) (e : Omega * publics -> environment).
Variables (C : Omega * publics -> factors) (p : Omega * publics -> lattice_program) (Q : nat).
Variable J : (Omega * publics) * transcript -> bool.

(* The masks of the first i blocks are those of u, all others those of r. *)
Definition mixed (i : nat) (u r : pools) : pools :=
  [ffun j => if (enum_rank j < i)%N then u j else r j].

(* The machine of block j. Its coins: all that is fixed before masks are drawn, a T for the other
   widths, secrets and noises for the blocks after j, uniform masks for those before. It publishes
   tau times the matrix it is given, takes tau times the vector for the masks of block j, plays
   Charlie and the environment, and answers as J does. *)
Definition reduction (j : block) :
    distinguisher L N (width (input (tag j))) d :=
  @Distinguisher L N (width (input (tag j))) d
    [finType of (Omega * publics) * (block_coins * pools)]
    (independent (independent mu (@uniform publics)) (independent block_law (@uniform pools)))
    (fun c matrix vector =>
       let T : publics := [ffun k => replace c.1.2 (scale (embed L tau) matrix) k] in
       let P := mixed (enum_rank j) c.2.2 (masks_of T c.2.1) in
       let P' : pools := [ffun i => replace P (embed L tau *: vector) i] in
       let o := (c.1.1, T) in
       J (o, lattice_masked (e o) (C o) P' Q (p o))).
End Reduction.

(* ------------------------------------------------------------------- from verdicts to masks *)
Section Steps.
Hypothesis L_primes : different_primes primes.
Hypothesis M_le : forall g, (M g <= R)%N.
Variable least : nat.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= primes i)%N).
Notation passing := ((least%:R ^+ kappa)^-1 : rat).
Notation judge := (fun x y => y == right x).

(* The verdict is whether the reply is right, but for a wrong reply that passes: whatever the masks
   are, and whatever is made of accepted replies. *)
Lemma run_checked (E : transcript -> bool) prod e P Q before p :
  `|mean (@uniform secrets) (fun w => (E (lattice_run (verdict W_D w) prod e P Q before p))%:R)
    - (E (lattice_run judge prod e P Q before p))%:R| <= Q%:R * passing.
Proof.
have passing_ge0 : 0 <= passing by rewrite invr_ge0 exprn_ge0 ?ler0n.
have same Q' (a : rat) : `|mean (@uniform secrets) (fun=> a) - a| <= Q'%:R * passing.
  rewrite mean_const; last exact/uniform_distribution/card_secrets_gt0.
  by rewrite subrr normr0 mulr_ge0 ?ler0n.
elim: p Q before => [|g b s q next IHnext broken IHbroken|out next IH|next IH] Q before //=.
case: Q => [|Q]; first exact: same.
set x := Message _; case: (david e before x) => [y|]; last exact: IHbroken.
case: (eqVneq y (right x)) => [->|wrong].
  under eq_mean do rewrite accepts_right //.
  exact: IHnext.
rewrite mulrS mulrDl mul1r; have close := IHbroken Q (rcons before (Rejected In Out y)).
rewrite -[X in `|X - _|](_ : mean (@uniform secrets) (fun w => if verdict W_D w y
    then (E (lattice_run (verdict W_D w) prod e P Q.+1 (rcons before (Accepted In Out y))
               (next (prod g b s q y))))%:R
    else (E (lattice_run (verdict W_D w) prod e P Q (rcons before (Rejected In Out y))
               broken))%:R) = _); last by apply: eq_mean => w; case: ifP.
by apply: (average_wrong L_primes M_le least_gt0 least_le wrong _ _ close) => w; case: (E _).
Qed.

Variables (C : factors) (B_q noise_bound error_bound : G -> nat).
Hypothesis tau_gt1 : (1 < tau)%N.
Hypothesis condition : forall g,
  lattice_condition L tau (noise_bound g) (error_bound g) (static_bound (B_q g) (W_D g)).

(* Replies that are right are unmasked to the unsplit model's products. *)
Lemma unmasked_exact T z (delta : forall j : block, 'M[int]_(M (tag j), N)) g b
    (s : 'I_b -> mask_index g) (q : 'M[int]_(n g, b)) :
  quiet noise_bound z -> (forall j, at_most (error_bound (tag j)) (delta j)) -> within (B_q g) q ->
  unmasked_product C (cancellations_of T z delta) s q
      (product (W_D g) (mask q (taken (masks_of T z) s)))
    = unsplit_product t W_D C q.
Proof.
move=> /forallP quiet_z delta_in q_in; rewrite /unmasked_product /unsplit_product.
rewrite -charlie_sum_model; congr charlie_sum.
pose B c : block := Tagged (fun g => 'I_(blocks g)) (s c).1.
pose r0 : 'M['Z_L]_(n g, b) := \matrix_(a, c)
  (ring_product (T (input g)) (embed_mx L (secret (z (B c)).1)) : 'M_(n g, N)) a (s c).2.
pose e0 : 'M[int]_(n g, b) := \matrix_(a, c) (noise (z (B c)).2 : 'M_(n g, N)) a (s c).2.
pose d0 : 'M[int]_(M g, b) := \matrix_(a, c) (delta (B c) : 'M_(M g, N)) a (s c).2.
have L_gt1 := modulus_gt1 L_primes.
have -> : taken (masks_of T z) s = r0 + embed L tau *: embed_mx L e0.
  by apply/matrixP => a c; rewrite [LHS]mxE ffunE [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE.
have -> : taken (cancellations_of T z delta) s
    = embed_mx L (W_D g) *m r0 + embed L tau *: embed_mx L d0.
  apply/matrixP => a c.
  rewrite [LHS]mxE /cancellations_of /lattice_cancellations ring_product_constant.
  rewrite [LHS]mxE [RHS]mxE; congr (_ + _); rewrite !mxE //.
  by apply: eq_bigr => j _; rewrite [r0 j c]mxE.
apply: (lattice_exact L_gt1 tau_gt1 r0 (condition g) q_in); apply/forallP => k; apply/forallP => c.
  have /forallP/(_ k)/forallP/(_ (s c).2) := quiet_z (B c); rewrite !mxE.
  by rewrite (eq_bigr (fun j => W_D g k j * e0 j c)) // => j _; rewrite mxE.
by rewrite mxE; have /forallP/(_ k)/forallP := delta_in (B c).
Qed.

Lemma run_exact T z (delta : forall j : block, 'M[int]_(M (tag j), N)) e P Q before p :
  P = masks_of T z ->
  quiet noise_bound z -> (forall j, at_most (error_bound (tag j)) (delta j)) ->
  admissible t W_D C B_q (forget p) ->
  lattice_run judge (unmasked_product C (cancellations_of T z delta)) e P Q before p
    = lattice_run judge (model_product C) e P Q before p.
Proof.
move=> eP quiet_z delta_in.
elim: p Q before => [|g b s q next IHn broken IHb|out next IH|next IH] Q before //=.
- case=> q_in next_in broken_in; case: Q => [//|Q]; set x := Message _.
  case: (david e before x) => [y|]; last exact: IHb.
  case: eqP => [->|_]; last exact: IHb.
  have -> : unmasked_product C (cancellations_of T z delta) s q (right x)
      = unsplit_product t W_D C q by rewrite /x eP; apply: unmasked_exact.
  exact: IHn.
- by move=> in_all; apply: IH.
by move=> next_in; apply: IH.
Qed.
End Steps.

(* ----------------------------------------------------------------------------- uniform masks *)
(* All residues of all masks, in one family. *)
Definition cell : finType := [finType of {g : G & [finType of 'I_(n g) * ('I_(blocks g) * 'I_N)]}].
Definition at_cell g (a : 'I_(n g)) (i : mask_index g) : cell :=
  Tagged (fun g => [finType of 'I_(n g) * ('I_(blocks g) * 'I_N)]) (a, i).
Definition pool_of (f : {ffun cell -> 'Z_L}) : pools :=
  [ffun j => \matrix_(a, i) f (@at_cell (tag j) a (tagged j, i))].

Lemma pool_of_bijective : bijective pool_of.
Proof.
exists (fun u : pools => [ffun x : cell => (u (Tagged (fun g => 'I_(blocks g)) (tagged x).2.1)
          : 'M_(n (tag x), N)) (tagged x).1 (tagged x).2.2]).
  by move=> f; apply/ffunP => -[g [a [j i]]]; rewrite !ffunE mxE.
move=> u; apply/ffunP => -[g j]; apply/matrixP => a i.
by rewrite ffunE mxE /at_cell ffunE.
Qed.

Section Uniform.
Variables (e : environment) (C : factors).
Notation judge := (fun x y => y == right x).
Notation run u := (lattice_run judge (model_product C) e u).

(* A run does not depend on masks that it does not take. *)
Lemma run_outside (u u' : pools) used Q before p : takes_once used p ->
  (forall g (i : mask_index g), Tagged (fun g => mask_index g) i \notin used -> forall a,
     (u (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g, N)) a i.2
       = (u' (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g, N)) a i.2) ->
  run u Q before p = run u' Q before p.
Proof.
move=> once same.
elim: p used Q before once same => [|g b s q next IHn broken IHb|out next IH|next IH] used Q before
  //=; last 2 first.
- by move=> once same; apply: IH (once _) same.
- exact: IH.
case=> s_inj fresh next_once broken_once same; case: Q => [//|Q].
rewrite (_ : taken u s = taken u' s); last first.
  apply/matrixP => a c; rewrite [LHS]mxE [RHS]mxE; apply: same.
  by rewrite (disjointFr fresh) //; apply/imsetP; exists c.
have same' g' (i : mask_index g') :
    Tagged (fun g => mask_index g) i \notin used :|: indices s -> forall a,
     (u (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g', N)) a i.2
       = (u' (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g', N)) a i.2.
  by rewrite inE negb_or => /andP[i_out _]; apply: same.
case: (david e before _) => [y|]; last exact: IHb broken_once same'.
by case: ifP => _; [apply: IHn (next_once _) same'|apply: IHb broken_once same'].
Qed.

(* With uniform masks, each taken once, it is the ideal with the blind simulator. *)
Lemma lattice_run_cells (E : transcript -> bool) used Q before p : takes_once used p ->
  mean (@uniform _) (fun f => (E (run (pool_of f) Q before p))%:R)
    = chance E (ideal t W_D (blind primes W_D) e C Q before (forget p)).
Proof.
have Z_gt0 : (0 < #|[finType of 'Z_L]|)%N by apply/card_gt0P; exists 0.
have const (a : rat) : mean (@uniform [finType of {ffun cell -> 'Z_L}]) (fun _ => a) = a.
  by apply/mean_const/uniform_distribution; rewrite card_ffun expn_gt0 Z_gt0.
elim: p used Q before => [|g b s q next IHn broken IHb|out next IH|next IH] used Q before /=;
  last 2 first.
- by move=> once; apply: IH (once _).
- exact: IH.
- by rewrite const.
case=> s_inj fresh next_once broken_once; case: Q => [|Q]; first by rewrite const.
pose phi (x : 'I_(n g) * 'I_b) : cell := at_cell x.1 (s x.2).
have phi_inj : injective phi.
  by case=> a c [a' c'] /eqP; rewrite /phi /at_cell eq_Tagged /= => /eqP[-> /s_inj ->].
pose mx (v : {ffun 'I_(n g) * 'I_b -> 'Z_L}) : 'M['Z_L]_(n g, b) := \matrix_(a, c) v (a, c).
have mx_bij : bijective mx.
  exists (fun A : 'M_(n g, b) => [ffun x => A x.1 x.2]).
    by move=> v; apply/ffunP => -[a c]; rewrite ffunE mxE.
  by move=> A; apply/matrixP => a c; rewrite mxE ffunE.
have masked_bij : bijective (fun v => mask q (mx v)).
  exact: (bij_comp (@mask_bijective L (n g) b q) mx_bij).
pose F f v : rat := let x := @Message h primes G n g b (mask q (mx v)) in
  match david e before x with
  | None => (E (run (pool_of f) Q.+1 (rcons before (Lost _ _ _ x)) broken))%:R
  | Some y => if y == right x
      then (E (run (pool_of f) Q.+1 (rcons before (Accepted _ _ y))
                 (next (unsplit_product t W_D C q))))%:R
      else (E (run (pool_of f) Q (rcons before (Rejected _ _ y)) broken))%:R
  end.
transitivity (mean (@uniform _) (fun f => F f [ffun x => f (phi x)])).
  apply: eq_mean => f; rewrite /F /=.
  have -> : mx [ffun x => f (phi x)] = taken (pool_of f) s.
    apply/matrixP => a c; rewrite [LHS]mxE [RHS]mxE !ffunE mxE /phi /=.
    by case: (s c).
  by case: (david e before _) => [y|] //; case: ifP.
rewrite (mean_put phi_inj) // => [|f f' v same]; last first.
  have same' g' (i : mask_index g') :
      Tagged (fun g => mask_index g) i \notin used :|: indices s -> forall a,
       (pool_of f (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g', N)) a i.2
         = (pool_of f' (Tagged (fun g => 'I_(blocks g)) i.1) : 'M_(n g', N)) a i.2.
    rewrite inE negb_or => /andP[_ i_out] a; rewrite !ffunE !mxE /=; apply: same => -[a' c].
    apply: contra i_out => /eqP e_phi; apply/imsetP; exists c => //.
    have e_tag : g = g' by apply: (congr1 tag e_phi).
    case: _ / e_tag i a e_phi => i a /eqP; rewrite /phi /at_cell eq_Tagged /= => /eqP[_ e_s].
    by rewrite e_s; case: i {e_s}.
  rewrite /F /=; case: (david e before _) => [y|].
    by case: ifP => _; rewrite (run_outside _ _ _ same') //; apply: next_once.
  by rewrite (run_outside _ _ broken_once same').
pose step x : rat := chance E match david e before x with
    | None => ideal t W_D (blind primes W_D) e C Q.+1 (rcons before (Lost _ _ _ x)) (forget broken)
    | Some y =>
        if y == right x
        then ideal t W_D (blind primes W_D) e C Q.+1 (rcons before (Accepted _ _ y))
               (forget (next (unsplit_product t W_D C q)))
        else ideal t W_D (blind primes W_D) e C Q (rcons before (Rejected _ _ y)) (forget broken)
    end.
rewrite chance_draw.
transitivity (mean (@uniform [finType of 'M['Z_L]_(n g, b)])
                (fun v => step (@Message h primes G n g b v))); last by [].
rewrite -(mean_bijection _ masked_bij); apply: eq_mean => v; rewrite /F /step /=.
case: (david e before _) => [y|]; last exact: IHb broken_once.
by case: ifP => _; [apply: IHn (next_once _)|apply: IHb broken_once].
Qed.

Lemma lattice_run_uniform (E : transcript -> bool) Q p : takes_once set0 p ->
  mean (@uniform pools) (fun u => (E (lattice_masked e C u Q p))%:R)
    = chance E (ideal_run t W_D (blind primes W_D) e C Q (forget p)).
Proof.
move=> once; rewrite -(mean_bijection _ pool_of_bijective).
exact: lattice_run_cells once.
Qed.
End Uniform.

(* ------------------------------------------------------------------------------ the theorem *)
Section Main.
Variables (Omega : finType) (mu : Omega -> rat) (e : Omega * publics -> environment).
Variables (C : Omega * publics -> factors) (p : Omega * publics -> lattice_program) (Q : nat).
Variable error : Omega * publics -> block_coins -> forall j : block, 'M[int]_(M (tag j), N).
Variables (B_q noise_bound error_bound : G -> nat) (least : nat).
Variable J : (Omega * publics) * transcript -> bool.

Hypothesis L_primes : different_primes primes.
Hypothesis mu_dist : distribution mu.
Hypotheses (chi_S_dist : distribution chi_S) (chi_e_dist : forall k, distribution (@chi_e k)).
Hypotheses (tau_gt1 : (1 < tau)%N) (tau_unit : coprime tau L).

Lemma block_law_distribution : distribution block_law.
Proof.
apply: (@product_distribution block _ (fun j => independent chi_S (@chi_e (input (tag j))))) => j.
exact: independent_distribution.
Qed.

Lemma publics_gt0 : (0 < #|publics|)%N.
Proof. by apply/card_gt0P; exists [ffun k => 0]. Qed.

Lemma pools_gt0 : (0 < #|pools|)%N.
Proof. by apply/card_gt0P; exists [ffun j => 0]. Qed.

Lemma publics_distribution : distribution (@uniform publics).
Proof. exact: uniform_distribution publics_gt0. Qed.

Lemma pools_distribution : distribution (@uniform pools).
Proof. exact: uniform_distribution pools_gt0. Qed.

(* The machines are machines. *)
Lemma reduction_law j :
  distribution (@law _ _ _ _ (reduction mu e C p Q J j)).
Proof.
apply: independent_distribution; apply: independent_distribution => //.
- exact: publics_distribution.
- exact: block_law_distribution.
exact: pools_distribution.
Qed.

(* What J says of the run with the masks P; and with the first i blocks uniform. *)
Let said (o : Omega) (T : publics) (P : pools) : rat :=
  (J ((o, T), lattice_masked (e (o, T)) (C (o, T)) P Q (p (o, T))))%:R.
Let hybrid (i : nat) : rat :=
  mean mu (fun o => mean (@uniform publics) (fun T => mean block_law (fun z =>
    mean (@uniform pools) (fun u => said o T (mixed i u (masks_of T z)))))).

Lemma tau_unitZ : embed L tau \is a GRing.unit.
Proof. by rewrite /embed -pmulrn unitZpE ?modulus_gt1 // coprime_sym. Qed.

Lemma scale_bijective k : bijective (fun T : matrix k => scale (embed L tau) T).
Proof.
have u := tau_unitZ; exists (fun T : matrix k => scale (embed L tau)^-1 T) => T;
  apply/matrixP => i l; by rewrite !mxE scalerA ?mulVr ?mulrV // scale1r.
Qed.

Lemma scale_vector_bijective k : bijective (fun B : vector k => embed L tau *: B).
Proof.
have u := tau_unitZ; exists (fun B : vector k => (embed L tau)^-1 *: B) => B;
  by rewrite scalerA ?mulVr ?mulrV // scale1r.
Qed.

Lemma masks_replace (j : block) (T : publics) (z : block_coins) (u : pools)
    (T' : matrix (input (tag j))) (x : Secret * Noise (input (tag j))) :
  let T1 : publics := [ffun k => replace T (scale (embed L tau) T') k] in
  [ffun i => replace (mixed (enum_rank j) u (masks_of T1 z))
               (embed L tau *: mlwe_sample secret (@noise (input (tag j))) T' x.1 x.2) i]
    = mixed (enum_rank j) u (masks_of T1 [ffun i => replace z x i]).
Proof.
move=> T1; apply/ffunP => i; rewrite [LHS]ffunE [RHS]ffunE; case: (eqVneq i j) => [->|i_j].
  rewrite replace_same ltnn ffunE !ffunE !replace_same /mlwe_sample /lattice_masks.
  by rewrite ring_product_scale scalerDr.
rewrite replace_other // ffunE; case: ifP => // _.
by rewrite !ffunE (replace_other (z : forall i, _) x i_j).
Qed.

Lemma mixed_replace (j : block) (u r : pools) (B : vector (input (tag j))) :
  [ffun i => replace (mixed (enum_rank j) u r) B i]
    = mixed (enum_rank j).+1 [ffun i => replace u B i] r.
Proof.
apply/ffunP => i; rewrite [LHS]ffunE [RHS]ffunE; case: (eqVneq i j) => [->|i_j].
  by rewrite ltnSn ffunE !replace_same.
rewrite replace_other // [LHS]ffunE ltnS (leq_eqVlt (enum_rank i)).
case: eqP => [/val_inj/enum_rank_inj e_ij|_]; first by rewrite e_ij eqxx in i_j.
by rewrite /=; case: ifP => // _; rewrite ffunE replace_other.
Qed.

(* The machine of block j plays one hybrid on samples, and the next on uniform vectors. *)
Lemma reduction_sample (j : block) : let D := reduction mu e C p Q J j in
  Pr (independent (@law _ _ _ _ D) (independent (@uniform (matrix (input (tag j))))
                              (independent chi_S (@chi_e (input (tag j))))))
     (fun z => answer z.1 z.2.1 (mlwe_sample secret (@noise _) z.2.1 z.2.2.1 z.2.2.2))
    = hybrid (enum_rank j).
Proof.
move=> D; set k := input (tag j).
have samples_dist := independent_distribution chi_S_dist (chi_e_dist k).
have matrix_gt0 : (0 < #|matrix k|)%N by apply/card_gt0P; exists 0.
rewrite Pr_mean mean_independent /D /reduction /= mean_independent /= mean_independent.
apply: eq_mean => o.
pose publish (T : publics) (T' : matrix k) : publics :=
  [ffun k => replace T (scale (embed L tau) T') k].
pose H T T' (z : block_coins) (x : Secret * Noise k) u : rat := said o (publish T T')
  (mixed (enum_rank j) u (masks_of (publish T T') [ffun i => replace z x i])).
transitivity (mean (@uniform publics) (fun T => mean (@uniform (matrix k)) (fun T' =>
    mean (independent chi_S (@chi_e k)) (fun x => mean block_law (fun z =>
      mean (@uniform pools) (fun u => H T T' z x u)))))).
  apply: eq_mean => T; rewrite mean_independent.
  transitivity (mean block_law (fun z => mean (@uniform (matrix k)) (fun T' =>
      mean (independent chi_S (@chi_e k)) (fun x => mean (@uniform pools) (fun u => H T T' z x u))))).
    apply: eq_mean => z; rewrite [LHS]mean_swap [LHS]mean_independent; apply: eq_mean => T'.
    apply: eq_mean => x; apply: eq_mean => u.
    exact: (congr1 (said o (publish T T')) (masks_replace T z u T' x)).
  rewrite mean_swap; apply: eq_mean => T'; exact: mean_swap.
rewrite mean_swap.
pose K1 (T : publics) : rat := mean block_law (fun z => mean (@uniform pools) (fun u =>
  said o T (mixed (enum_rank j) u (masks_of T z)))).
transitivity (mean (@uniform (matrix k)) (fun T' => mean (@uniform publics) (fun T =>
    K1 (publish T T')))).
  apply: eq_mean => T'; apply: eq_mean => T.
  apply: (@mean_replace_product block _ j (fun i => independent chi_S (@chi_e (input (tag i))))
            (fun z => mean (@uniform pools) (fun u => said o (publish T T')
               (mixed (enum_rank j) u (masks_of (publish T T') z))))).
  by case: samples_dist.
rewrite (mean_bijection (fun T' : matrix k =>
             mean (@uniform publics) (fun T => K1 [ffun k => replace T T' k]))
           (scale_bijective k)).
exact: mean_replace_uniform.
Qed.

Lemma reduction_uniform (j : block) : let D := reduction mu e C p Q J j in
  Pr (independent (@law _ _ _ _ D) (independent (@uniform (matrix (input (tag j))))
                              (@uniform (vector (input (tag j))))))
     (fun z => answer z.1 z.2.1 z.2.2)
    = hybrid (enum_rank j).+1.
Proof.
move=> D; set k := input (tag j).
have matrix_gt0 : (0 < #|matrix k|)%N by apply/card_gt0P; exists 0.
have vector_gt0 : (0 < #|vector k|)%N by apply/card_gt0P; exists 0.
rewrite Pr_mean mean_independent /D /reduction /= mean_independent /= mean_independent.
apply: eq_mean => o.
pose publish (T : publics) (T' : matrix k) : publics :=
  [ffun k => replace T (scale (embed L tau) T') k].
pose K1 (T : publics) : rat := mean block_law (fun z => mean (@uniform pools) (fun u =>
  said o T (mixed (enum_rank j).+1 u (masks_of T z)))).
transitivity (mean (@uniform publics) (fun T => mean (@uniform (matrix k)) (fun T' =>
    K1 (publish T T')))).
  apply: eq_mean => T; rewrite mean_independent.
  transitivity (mean block_law (fun z => mean (@uniform (matrix k)) (fun T' =>
      mean (@uniform pools) (fun u => said o (publish T T')
        (mixed (enum_rank j).+1 u (masks_of (publish T T') z)))))).
    apply: eq_mean => z; rewrite [LHS]mean_swap [LHS]mean_independent; apply: eq_mean => T'.
    pose f (B : vector k) : rat := mean (@uniform pools) (fun u => said o (publish T T')
      (mixed (enum_rank j).+1 [ffun i => replace u B i] (masks_of (publish T T') z))).
    transitivity (mean (@uniform (vector k)) f); last first.
      exact: (@mean_replace_uniform block _ j (fun u => said o (publish T T')
                (mixed (enum_rank j).+1 u (masks_of (publish T T') z)))).
    rewrite -(mean_bijection f (scale_vector_bijective k)); apply: eq_mean => B.
    apply: eq_mean => u.
    exact: (congr1 (said o (publish T T')) (mixed_replace u (masks_of (publish T T') z) _)).
  by rewrite mean_swap; apply: eq_mean => T'.
rewrite mean_swap.
rewrite (mean_bijection (fun T' : matrix k =>
             mean (@uniform publics) (fun T => K1 [ffun k => replace T T' k]))
           (scale_bijective k)).
exact: mean_replace_uniform.
Qed.

Lemma hybrid_step (j : block) :
  `|hybrid (enum_rank j) - hybrid (enum_rank j).+1|
    = advantage chi_S (@chi_e (input (tag j))) secret (@noise (input (tag j)))
        (reduction mu e C p Q J j).
Proof. by rewrite /advantage reduction_sample reduction_uniform. Qed.

Lemma telescope (f : nat -> rat) m : `|f 0%N - f m| <= \sum_(i < m) `|f i - f i.+1|.
Proof.
elim: m => [|m IH]; first by rewrite big_ord0 subrr normr0.
rewrite big_ord_recr /= -(subrKA (f m)); apply: le_trans (ler_norm_add _ _) _.
by rewrite ler_add2r.
Qed.

Lemma hybrids : `|hybrid 0 - hybrid #|block| | <= \sum_j
  advantage chi_S (@chi_e (input (tag j))) secret (@noise (input (tag j)))
    (reduction mu e C p Q J j).
Proof.
apply: le_trans (telescope hybrid _) _.
rewrite [X in _ <= X](reindex (@enum_val block block)) /=; last first.
  exact/onW_bij/enum_val_bij.
by apply: ler_sum => i _; rewrite -hybrid_step enum_valK.
Qed.

Hypothesis condition : forall g,
  lattice_condition L tau (noise_bound g) (error_bound g) (static_bound (B_q g) (W_D g)).
Hypothesis error_in : forall o z j, at_most (error_bound (tag j)) (error o z j).
Hypothesis p_in : forall o, admissible t W_D (C o) B_q (forget (p o)).
Hypothesis p_once : forall o, takes_once set0 (p o).
Hypothesis M_le : forall g, (M g <= R)%N.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= primes i)%N).

Theorem lattice_close :
  `|Pr (independent (independent mu (@uniform publics)) (independent block_law (@uniform secrets)))
       (fun z => J (z.1, lattice_real (e z.1) (C z.1) z.1.2 z.2.1 (error z.1 z.2.1) z.2.2 Q (p z.1)))
    - chance_over (independent mu (@uniform publics))
        (fun o => ideal_run t W_D (blind primes W_D) (e o) (C o) Q (forget (p o))) J|
  <= Q%:R * (least%:R ^+ kappa)^-1 + Pr block_law (fun z => ~~ quiet noise_bound z)
     + \sum_j advantage chi_S (@chi_e (input (tag j))) secret (@noise (input (tag j)))
         (reduction mu e C p Q J j).
Proof.
have outer : distribution (independent mu (@uniform publics)).
  exact: independent_distribution mu_dist publics_distribution.
have blocks_dist := block_law_distribution.
rewrite Pr_mean mean_independent chance_over_mean.
set real := mean _ _; set ideal := mean _ _.
pose unmasked := mean (independent mu (@uniform publics)) (fun o => mean block_law (fun z =>
  (J (o, lattice_run (fun x y => y == right x)
           (unmasked_product (C o) (cancellations_of o.2 z (error o z))) (e o) (masks_of o.2 z) Q
           [::] (p o)))%:R)).
pose masked := mean (independent mu (@uniform publics)) (fun o => mean block_law (fun z =>
  (J (o, lattice_masked (e o) (C o) (masks_of o.2 z) Q (p o)))%:R)).
have step1 : `|real - unmasked| <= Q%:R * (least%:R ^+ kappa)^-1.
  apply: (mean_close outer) => o; rewrite mean_independent; apply: (mean_close blocks_dist) => z.
  exact: (run_checked L_primes M_le least_gt0 least_le (fun h => J (o, h))).
have step2 : `|unmasked - masked| <= Pr block_law (fun z => ~~ quiet noise_bound z).
  apply: (mean_close outer) => o; apply: (mean_except blocks_dist) => z.
  - by case: (J _).
  - by case: (J _).
  rewrite negbK => quiet_z; congr ((J (o, _))%:R).
  exact: (run_exact L_primes tau_gt1 condition _ _ _ (erefl _) quiet_z (error_in o z) (p_in o)).
have step3 : masked = hybrid 0.
  rewrite /masked /hybrid mean_independent; apply: eq_mean => o; apply: eq_mean => T.
  apply: eq_mean => z; rewrite [RHS](_ : _ = mean (@uniform pools) (fun=> said o T (masks_of T z))).
    by rewrite mean_const //; apply: pools_distribution.
  by apply: eq_mean => u; congr said; apply/ffunP => j; rewrite ffunE ltn0.
have step4 : hybrid #|block| = ideal.
  rewrite /ideal /hybrid mean_independent; apply: eq_mean => o; apply: eq_mean => T.
  rewrite -(lattice_run_uniform (e (o, T)) (C (o, T)) (fun h => J ((o, T), h)) Q
              (p_once (o, T))).
  rewrite [LHS](_ : _ = mean block_law (fun=> mean (@uniform pools) (fun u => said o T u))).
    by rewrite mean_const.
  apply: eq_mean => z; apply: eq_mean => u; congr said; apply/ffunP => j.
  by rewrite ffunE ltn_ord.
rewrite -step4; have step5 := hybrids; rewrite -step3 in step5.
rewrite -(subrKA masked); apply: le_trans (ler_norm_add _ _) _; apply: ler_add step5.
rewrite -(subrKA unmasked); apply: le_trans (ler_norm_add _ _) _; exact: ler_add step1 step2.
Qed.

Theorem lattice_simulation : let machine := reduction mu e C p Q J in
  (forall j, distribution (@law _ _ _ _ (machine j))) /\
  `|Pr (independent (independent mu (@uniform publics)) (independent block_law (@uniform secrets)))
       (fun z => J (z.1, lattice_real (e z.1) (C z.1) z.1.2 z.2.1 (error z.1 z.2.1) z.2.2 Q (p z.1)))
    - chance_over (independent mu (@uniform publics))
        (fun o => ideal_run t W_D (blind primes W_D) (e o) (C o) Q (forget (p o))) J|
  <= Q%:R * (least%:R ^+ kappa)^-1 + Pr block_law (fun z => ~~ quiet noise_bound z)
     + \sum_j advantage chi_S (@chi_e (input (tag j))) secret (@noise (input (tag j))) (machine j).
Proof. by split; [apply: reduction_law|apply: lattice_close]. Qed.
End Main.
End Sessions.
